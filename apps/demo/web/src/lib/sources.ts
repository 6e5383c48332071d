import type { ContextUsage } from '@x/core';

/** The sources that fill the window, in the order of a request. A key is also the suffix of its color's class: `source-tools`. */
export const sources = [
  { key: 'system', name: 'System prompt' },
  { key: 'tools', name: 'Tools' },
  { key: 'reminders', name: 'Memory and reminders' },
  { key: 'summary', name: 'Summary' },
  { key: 'conversation', name: 'Conversation' },
  { key: 'toolResults', name: 'Tool results' },
] as const;

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
