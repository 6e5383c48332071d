import { defineConfig } from 'tsup';
import { library } from '../../tooling/tsup.js';

export default defineConfig({ ...library, entry: ['src/index.ts', 'src/suites.ts'] });
