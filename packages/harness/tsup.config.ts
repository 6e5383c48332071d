import { defineConfig } from 'tsup';
import { library } from '../../tooling/tsup.js';

export default defineConfig({
  ...library,
  entry: [
    'src/index.ts',
    'src/bullmq/index.ts',
    'src/internal.ts',
    'src/mcp/index.ts',
    'src/telemetry/index.ts',
    'src/view/index.ts',
  ],
});
