import { defineConfig } from 'vitest/config';
import { unitWith } from './vitest.js';

export default defineConfig(unitWith('redis', 'mariadb', 'postgres', 'chromium'));
