import type { Message } from '@x/core';
import { isUserRequest } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import { type KeptRequest, keepUserWords } from './user-words.js';

/** A conversation cut for a summary. */
export interface Partition {
  /** System messages of the older part: they stay in front of everything. */
  readonly head: readonly Message[];
  /** What stays of the user's requests of the older part, in front of the summary. */
  readonly requests: readonly KeptRequest[];
  /** Earlier summaries, which the new one takes over. */
  readonly previous: readonly Message[];
  /** What the summary is to cover, in its order: requests that stay in front of it included. */
  readonly covered: readonly Message[];
  /** Where among the covered messages those begin that no earlier summary counts. */
  readonly fresh: number;
  /** What stays as it is. */
  readonly tail: readonly Message[];
}

/**
 * Cuts a conversation at an index.
 *
 * @param room Tokens for the requests in front of the summary.
 */
export function partitionAt(
  messages: readonly Message[],
  cut: number,
  room: number,
  meter: Meter,
): Partition {
  const head: Message[] = [];
  const previous: Message[] = [];
  const covered: Message[] = [];
  let fresh = 0;
  for (let index = 0; index < cut; index++) {
    const message = messages[index] as Message;
    if (message.role === 'system') head.push(message);
    else if (message.kind === 'summary') {
      previous.push(message);
      fresh = covered.length;
    } else covered.push(message);
  }
  const requests = keepUserWords(covered.filter(isUserRequest), messages, room, meter);
  return { head, requests, previous, covered, fresh, tail: messages.slice(cut) };
}

/** The conversation with `replacement` behind the user's requests, in place of everything else that is covered. */
export function reassemble(part: Partition, replacement: readonly Message[]): readonly Message[] {
  return [...part.head, ...part.requests.map(({ message }) => message), ...replacement, ...part.tail];
}
