import type { Message } from '@x/core';
import { isUserRequest, latestUserRequest } from '../pinned.js';

/** A conversation cut for a summary. */
export interface Partition {
  /** System messages of the older part: they stay. */
  readonly system: readonly Message[];
  /** Earlier summaries, which the new one takes over. */
  readonly previous: readonly Message[];
  /** What the summary is to cover. */
  readonly covered: readonly Message[];
  /** The latest user request, where the cut lies behind it: it stays. */
  readonly pinned: readonly Message[];
  /** What stays as it is. */
  readonly tail: readonly Message[];
}

/** Cuts a conversation at an index. */
export function partitionAt(messages: readonly Message[], cut: number): Partition {
  const latest = messages[latestUserRequest(messages)];
  const system: Message[] = [];
  const previous: Message[] = [];
  const covered: Message[] = [];
  const pinned: Message[] = [];
  for (const message of messages.slice(0, cut)) {
    if (message.role === 'system') system.push(message);
    else if (message.kind === 'summary') previous.push(message);
    else if (message === latest && isUserRequest(message)) pinned.push(message);
    else covered.push(message);
  }
  return { system, previous, covered, pinned, tail: messages.slice(cut) };
}

/** The conversation with `replacement` in place of everything covered. */
export function reassemble(part: Partition, replacement: readonly Message[]): readonly Message[] {
  return [...part.system, ...replacement, ...part.pinned, ...part.tail];
}
