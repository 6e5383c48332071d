import { defineConfig } from 'vitest/config';
import { together, unit } from '../../tooling/vitest.js';

export default defineConfig(together(unit));
