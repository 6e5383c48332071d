import { defineConfig } from 'tsup';
import { library } from '../../tooling/tsup.js';

export default defineConfig({ ...library, entry: { index: 'src/index.ts', mcp: 'src/mcp/index.ts' } });
