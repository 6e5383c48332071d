import { defineConfig } from 'vitest/config';
import { together, unitWith } from '../../tooling/vitest.js';

export default defineConfig(together(unitWith('mariadb')));
