import { defineConfig } from 'vitest/config';
import { unit } from '../vitest.js';

export default defineConfig(unit);
