import { defineConfig } from 'vitest/config';
import { together, unit } from '../../tooling/vitest.js';

/** A folder with another version of the AI SDK, to test against in place of the installed one: see `tooling/ai-sdk.mjs`. */
const other = process.env.X_AI_SDK;
const SDK = /^(?:ai|@ai-sdk\/(?:anthropic|openai|provider))(?:\/|$)/;

export default defineConfig({
  ...together(unit),
  plugins: [
    other !== undefined && {
      name: 'another-ai-sdk',
      enforce: 'pre',
      resolveId(source) {
        // The importer has to be a file that is there.
        return SDK.test(source) ? this.resolve(source, `${other}/package.json`, { skipSelf: true }) : null;
      },
    },
  ],
});
