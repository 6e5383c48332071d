import { defineConfig } from 'tsup';
import { unbundled } from '../../tooling/tsup.js';

export default defineConfig(unbundled);
