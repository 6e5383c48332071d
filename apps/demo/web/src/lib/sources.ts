import type { ContextUsage } from '@x/core';
import { sources } from '../../../../cli/src/terminal/sources.js';

// The key of a source is also the suffix of its color's class: `source-tools`.
export { sources };

/** An empty window. */
export const emptyUsage: ContextUsage = {
  system: 0,
  tools: 0,
  reminders: 0,
  summary: 0,
  conversation: 0,
  toolResults: 0,
  total: 0,
};

/** Returns the parts of a window with their tokens, the free space last. */
export function partsOf(usage: ContextUsage, window: number) {
  const free = { key: 'free', name: 'Free', tokens: Math.max(0, window - usage.total) } as const;
  return [...sources.map((source) => ({ ...source, tokens: usage[source.key] })), free];
}
