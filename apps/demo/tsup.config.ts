import { defineConfig } from 'tsup';
import { application } from '../../tooling/tsup.js';

export default defineConfig(application);
