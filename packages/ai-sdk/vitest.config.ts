import { defineConfig } from 'vitest/config';
import { together, unit, withPeers } from '../../tooling/vitest.js';

export default defineConfig(
  withPeers(/^(?:ai|@ai-sdk\/(?:anthropic|openai|provider))(?:\/|$)/, together(unit)),
);
