import { defineConfig } from 'vitest/config';
import { together, unit } from '../../tooling/vitest.js';

/** A folder with another version of the AI SDK, to test against in place of the installed one: see `tooling/ai-sdk-7.mjs`. */
const other = process.env.X_AI_SDK;

export default defineConfig({
  ...together(unit),
  resolve: {
    ...unit.resolve,
    ...(other
      ? { alias: [{ find: /^ai(\/test)?$/, replacement: `${other}/node_modules/ai/dist$1/index.js` }] }
      : {}),
  },
});
