import { defineConfig } from 'vitest/config';
import { unit } from '../../tooling/vitest.js';

export default defineConfig(unit);
