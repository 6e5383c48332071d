import { defineConfig } from 'vitest/config';
import { together, unit, withPeers } from '../../tooling/vitest.js';

export default defineConfig(withPeers(/^@openai\/agents(?:-core)?(?:\/|$)/, together(unit)));
