import type { Message } from '@x/core';
import { latestUserRequest } from '../conversation/regions.js';

/** A conversation cut for a summary. */
export interface Partition {
  /** What stays before the summary: system messages of the older part, and what else is pinned there. */
  readonly head: readonly Message[];
  /** Earlier summaries, which the new one takes over. */
  readonly previous: readonly Message[];
  /** What the summary is to cover. */
  readonly covered: readonly Message[];
  /** The latest user request, where the cut lies behind it, and what is pinned between it and the cut: they stay. */
  readonly pinned: readonly Message[];
  /** What stays as it is. */
  readonly tail: readonly Message[];
}

/** Messages that no summary replaces: system messages, the latest user request, and `anchor`. */
export function pinnedIn(messages: readonly Message[], anchor?: Message): ReadonlySet<Message> {
  const latest = messages[latestUserRequest(messages)];
  return new Set(
    messages.filter((message) => message.role === 'system' || message === latest || message === anchor),
  );
}

/** Cuts a conversation at an index. */
export function partitionAt(
  messages: readonly Message[],
  cut: number,
  pinnedMessages: ReadonlySet<Message>,
): Partition {
  const latest = messages[latestUserRequest(messages)];
  const head: Message[] = [];
  const previous: Message[] = [];
  const covered: Message[] = [];
  const pinned: Message[] = [];
  for (const message of messages.slice(0, cut)) {
    if (message === latest || (pinned.length > 0 && pinnedMessages.has(message))) pinned.push(message);
    else if (pinnedMessages.has(message)) head.push(message);
    else if (message.kind === 'summary') previous.push(message);
    else covered.push(message);
  }
  return { head, previous, covered, pinned, tail: messages.slice(cut) };
}

/** The conversation with `replacement` in place of everything covered. */
export function reassemble(part: Partition, replacement: readonly Message[]): readonly Message[] {
  return [...part.head, ...replacement, ...part.pinned, ...part.tail];
}
