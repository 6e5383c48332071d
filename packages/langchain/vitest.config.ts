import { defineConfig } from 'vitest/config';
import { together, unit, withPeers } from '../../tooling/vitest.js';

export default defineConfig(
  withPeers(/^(?:langchain|@langchain\/(?:core|langgraph|langgraph-checkpoint))(?:\/|$)/, together(unit)),
);
