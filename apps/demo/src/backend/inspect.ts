import { isDeepStrictEqual } from 'node:util';
import {
  type ContextUsage,
  countMessage,
  headOf,
  type ManifestEntry,
  type Message,
  type TokenCounter,
} from '@x/core';
import type { RequestMessage, RequestView } from '../server/backend.js';
import { textOf } from '../server/message-text.js';

const MAX_STUB_CHARS = 1_000;

/** The conversation in a request, and in the one before. */
export interface RequestPair {
  readonly messages: readonly Message[];
  readonly before: readonly Message[];
  readonly usage: ContextUsage | undefined;
}

/** Shows a request message by message, with what changed since the request before. */
export function requestView({ messages, before, usage }: RequestPair, counter: TokenCounter): RequestView {
  const { system = 0, tools = 0, reminders = 0 } = usage ?? {};
  const earlier = new Map(before.map((message) => [message.id, message]));
  const shown = (message: Message, change?: RequestMessage['change']): RequestMessage => ({
    id: message.id,
    source: sourceOf(message),
    tokens: countMessage(counter, message),
    text: textOf(message),
    change,
  });
  const now = messages.map((message) => {
    const old = earlier.get(message.id);
    earlier.delete(message.id);
    if (old === undefined) return shown(message, 'added');
    return shown(message, isDeepStrictEqual(old.content, message.content) ? undefined : 'altered');
  });
  return { messages: now, removed: [...earlier.values()].map((old) => shown(old)), system, tools, reminders };
}

function sourceOf(message: Message): RequestMessage['source'] {
  if (message.kind === 'summary') return 'summary';
  return message.role === 'tool' ? 'toolResults' : 'conversation';
}

/**
 * Measures the window after a compaction: counts the conversation anew, and takes all else from the measurement before.
 * `countMessage` remembers, so only what the compaction wrote is counted.
 */
export function contextAfter(
  before: ContextUsage,
  context: readonly Message[],
  counter: TokenCounter,
): ContextUsage {
  const sums = { summary: 0, conversation: 0, toolResults: 0 };
  for (const message of context) sums[sourceOf(message)] += countMessage(counter, message);
  const total =
    before.system + before.tools + before.reminders + sums.summary + sums.conversation + sums.toolResults;
  return { ...before, ...sums, total };
}

/** Collects, by message id, the texts that the model saw right after a compaction of messages that it altered in place. */
export function stubsAfter(
  manifest: readonly ManifestEntry[],
  context: readonly Message[],
): Readonly<Record<string, string>> {
  const altered = new Set(manifest.map(({ messageId }) => messageId));
  const standing = context.filter(({ id }) => altered.has(id));
  return Object.fromEntries(standing.map((message) => [message.id, headOf(textOf(message), MAX_STUB_CHARS)]));
}
