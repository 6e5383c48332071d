import type { ContextUsage } from '@x/core';

export interface Source {
  readonly key: SourceKey;
  readonly name: string;
  /** What it is, in words. */
  readonly description: string;
}

export type FilledKey = Exclude<keyof typeof words, 'free'>;
/** Also the end of the class that gives it its color: `source-tools`. */
export type SourceKey = keyof typeof words;

/** Name and description by key, in the order in which a request carries them. */
const words = {
  system: ['System prompt', 'Instructions to the model'],
  tools: ['Tools', 'What each tool is and takes'],
  reminders: ['Memory and reminders', 'Injected for this step alone'],
  summary: ['Summary', 'Stands for messages that were removed'],
  conversation: ['Conversation', 'What you and the model said'],
  toolResults: ['Tool results', 'What tools answered'],
  free: ['Free', 'Room that is left'],
} as const;

/** What the window consists of, the free room last. */
export const parts: readonly Source[] = Object.entries(words).map(([key, [name, description]]) => ({
  key: key as SourceKey,
  name,
  description,
}));

/** What fills it. */
export const sources = parts.filter(
  (source): source is Source & { readonly key: FilledKey } => source.key !== 'free',
);

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
