import type { ContextUsage } from '@x/core';

export type SourceKey =
  | 'system'
  | 'tools'
  | 'reminders'
  | 'summary'
  | 'conversation'
  | 'toolResults'
  | 'free';

export interface Source {
  readonly key: SourceKey;
  readonly name: string;
  /** What it is, in words. */
  readonly description: string;
  /** The class that gives it its color. */
  readonly className: string;
}

/** What fills the window, in the order in which a request carries it. */
export const sources: readonly (Source & { readonly key: Exclude<SourceKey, 'free'> })[] = [
  {
    key: 'system',
    name: 'System prompt',
    description: 'Instructions to the model',
    className: 'source-system',
  },
  { key: 'tools', name: 'Tools', description: 'What each tool is and takes', className: 'source-tools' },
  {
    key: 'reminders',
    name: 'Memory and reminders',
    description: 'Injected for this step alone',
    className: 'source-memory',
  },
  {
    key: 'summary',
    name: 'Summary',
    description: 'Stands for messages that were removed',
    className: 'source-summary',
  },
  {
    key: 'conversation',
    name: 'Conversation',
    description: 'What you and the model said',
    className: 'source-conversation',
  },
  {
    key: 'toolResults',
    name: 'Tool results',
    description: 'What tools answered',
    className: 'source-results',
  },
];

export const freeSource: Source = {
  key: 'free',
  name: 'Free',
  description: 'Room that is left',
  className: 'source-free',
};

/** A window in which nothing is yet. */
export const emptyUsage: ContextUsage = {
  system: 0,
  tools: 0,
  reminders: 0,
  summary: 0,
  conversation: 0,
  toolResults: 0,
  total: 0,
};

/** Tokens of a source, the free room included. */
export function tokensOf(context: ContextUsage, key: SourceKey, window: number): number {
  return key === 'free' ? Math.max(0, window - context.total) : context[key];
}
