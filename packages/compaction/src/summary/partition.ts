import type { Message } from '@x/core';
import { isUserRequest } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import { type KeptRequest, keepUserWords } from './user-words.js';

/** A conversation cut for a summary. */
export interface Partition {
  /** Messages in front of the summary: system messages, and the user's requests as far as they stay, in order. */
  readonly front: readonly Message[];
  /** The requests among them. */
  readonly requests: readonly KeptRequest[];
  /** Earlier summaries, which the new one takes over. */
  readonly previous: readonly Message[];
  /** Messages that the summary covers, in order; requests that stay in front of it are among them. */
  readonly covered: readonly Message[];
  /** Index of the first covered message that no earlier summary counts. */
  readonly fresh: number;
  /** Messages that stay as they are. */
  readonly tail: readonly Message[];
}

/**
 * Cuts a conversation at an index.
 *
 * @param room Tokens for the requests in front of the summary.
 * @param most How many of them may stay.
 */
export function partitionAt(
  messages: readonly Message[],
  cut: number,
  room: number,
  meter: Meter,
  most?: number,
): Partition {
  const before: Message[] = [];
  const previous: Message[] = [];
  const covered: Message[] = [];
  let fresh = 0;
  for (let index = 0; index < cut; index++) {
    const message = messages[index] as Message;
    if (message.role === 'system') before.push(message);
    else if (message.kind === 'summary') {
      previous.push(message);
      fresh = covered.length;
    } else {
      covered.push(message);
      if (isUserRequest(message)) before.push(message);
    }
  }
  const requests = keepUserWords(covered.filter(isUserRequest), messages, room, meter, most);
  const kept = new Map(requests.map(({ original, message }) => [original, message]));
  const front = before.flatMap((message) =>
    message.role === 'system' ? message : (kept.get(message) ?? []),
  );
  return { front, requests, previous, covered, fresh, tail: messages.slice(cut) };
}

/** The conversation with `replacement` behind what stays in front, in place of everything else that is covered. */
export function reassemble(part: Partition, replacement: readonly Message[]): readonly Message[] {
  return [...part.front, ...replacement, ...part.tail];
}
