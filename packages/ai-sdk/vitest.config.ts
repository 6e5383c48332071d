import { defineConfig } from 'vitest/config';
import { together, unit } from '../../tooling/vitest.js';

/** A folder with another version of the AI SDK, to test against in place of the installed one: see `tooling/ai-sdk.mjs`. */
const other = process.env.X_AI_SDK;

export default defineConfig({
  ...together(unit),
  plugins: [
    other !== undefined && {
      name: 'another-ai-sdk',
      enforce: 'pre',
      resolveId(source) {
        const isSdk = /^(?:ai|@ai-sdk\/(?:anthropic|openai|provider))(?:\/|$)/.test(source);
        return isSdk ? this.resolve(source, `${other}/index.js`, { skipSelf: true }) : null;
      },
    },
  ],
});
