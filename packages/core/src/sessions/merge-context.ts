import type { Message } from '../messages/message.js';
import { pairResults } from './pair-results.js';

/** Two conversations that began as one. */
export interface Divergence {
  /** What both began with. */
  readonly ancestor: readonly Message[];
  /** What this writer made of it. */
  readonly ours: readonly Message[];
  /** What is stored by now. */
  readonly stored: readonly Message[];
  /** What this writer has said since the ancestor, also what its own compactions have removed again. */
  readonly added?: readonly Message[] | undefined;
}

/**
 * One conversation with the turns of both writers, the stored ones first. Whoever compacted decides how it begins; when
 * both did, the stored beginning stays, and our own messages follow it in full. Messages are told apart by id.
 */
export function mergeContext({ ancestor, ours, stored, added = [] }: Divergence): readonly Message[] {
  const inAncestor = idsOf(ancestor);
  const inStored = idsOf(stored);
  const isNew = ({ id }: Message) => !inAncestor.has(id);

  if (isReduced(ours, ancestor, isNew) && !isReduced(stored, ancestor, isNew)) {
    const tail = ours.findLastIndex((message) => !isNew(message) || message.kind === 'summary') + 1;
    const prefix = ours.slice(0, tail);
    const inPrefix = idsOf(prefix);
    return pairResults([
      ...prefix,
      ...stored.slice(ancestor.length).filter(({ id }) => !inPrefix.has(id)),
      ...ours.slice(tail).filter(({ id }) => !inStored.has(id)),
    ]);
  }
  // Our summary goes with our beginning: what it told is told by the stored one, or follows in full.
  const current = ours.filter((message) => isNew(message) && message.kind !== 'summary');
  const byId = new Map(current.map((message) => [message.id, message]));
  const inAdded = idsOf(added);
  const own = [
    ...added.map((message) => byId.get(message.id) ?? message),
    ...current.filter(({ id }) => !inAdded.has(id)),
  ];
  return pairResults([...stored, ...own.filter((message) => isNew(message) && !inStored.has(message.id))]);
}

/** Whether something of the ancestor is gone or changed, or something was put into a summary. */
function isReduced(
  messages: readonly Message[],
  ancestor: readonly Message[],
  isNew: (message: Message) => boolean,
): boolean {
  const begins = ancestor.every((message, index) => isSame(message, messages[index]));
  return !begins || messages.some((message) => message.kind === 'summary' && isNew(message));
}

function isSame(left: Message, right: Message | undefined): boolean {
  return left === right || (left.id === right?.id && JSON.stringify(left) === JSON.stringify(right));
}

function idsOf(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(messages.map(({ id }) => id));
}
