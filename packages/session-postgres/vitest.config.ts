import { defineConfig } from 'vitest/config';
import { unitWith } from '../../tooling/vitest.js';

export default defineConfig(unitWith('postgres'));
