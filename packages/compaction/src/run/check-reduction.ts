import type { Message } from '@x/core';
import { toolResultsOf } from '@x/core';
import { pairingOf } from '@x/core/messages';
import { firstUserRequest, latestUserRequest, startOfUnseen } from '../conversation/regions.js';
import { type Fate, type Reduction, saysAnything } from '../stage.js';

/**
 * Returns why a reduction must not be used, or `undefined` if it is valid: every call keeps its result, every change has a fate, nothing
 * pinned is removed, something is left, and what stays keeps its order. A result that no model has seen is never removed, and not changed
 * while the request fits.
 *
 * @param fitted Whether the request had room in the window.
 */
export function problemWith(
  before: readonly Message[],
  reduction: Reduction,
  fitted: boolean,
): string | undefined {
  const { messages: after, fates } = reduction;
  if (saysAnything(before) && !saysAnything(after)) return 'nothing of the conversation was left';
  const accounted = new Set(fates.map((fate) => fate.messageId));
  const position = new Map<string, number>();
  for (const [index, { id }] of before.entries()) position.set(id, index);
  const staying = new Array<Message | undefined>(before.length).fill(undefined);
  for (const message of after) {
    const index = position.get(message.id);
    if (index !== undefined) staying[index] = message;
  }

  for (const [index, message] of before.entries()) {
    const now = staying[index];
    if (now === message) continue;
    if (!accounted.has(message.id)) {
      return `message ${message.id} was ${now ? 'altered' : 'removed'} without an entry in the manifest`;
    }
    if (message.role === 'system') return 'a system message was removed';
  }

  const latest = latestUserRequest(before);
  if (latest !== -1 && staying[latest] !== before[latest]) return 'the latest user message was removed';
  const first = firstUserRequest(before);
  const firstId = before[first]?.id;
  if (first !== -1 && !staying[first] && !fates.some((fate) => fate.messageId === firstId && stands(fate))) {
    return 'the first user request was removed, and nothing replaces it';
  }

  const was = pairingOf(before);
  for (let index = startOfUnseen(before); index < before.length; index++) {
    const message = before[index] as Message;
    if (toolResultsOf(message).length === 0 || was.orphanResults.has(index)) continue;
    if (!staying[index]) return 'a result that no model has seen was removed';
    if (fitted && staying[index] !== message)
      return 'a result that no model has seen was altered, though it fits';
  }

  const is = pairingOf(after);
  const lost =
    sizeOf(is.orphanCalls) > sizeOf(was.orphanCalls) || sizeOf(is.orphanResults) > sizeOf(was.orphanResults);
  if (lost) return 'a tool call was separated from its result';
  if (is.scattered.size > was.scattered.size) return 'a message was put between a tool call and its result';
  if (was.open.size > 0) {
    const open = was.groups.filter((group) => group.open);
    const touched = open.some(({ start, end }) =>
      before.slice(start, end).some((message, index) => staying[start + index] !== message),
    );
    if (touched) return 'an open tool call was touched';
  }
  return inOrder(position, after) ? undefined : 'the messages that stay changed their order';
}

/** Tests if a summary, or a provider's compaction, replaces the message. */
function stands({ fate }: Fate): boolean {
  return fate === 'summarized' || fate === 'replaced';
}

function sizeOf(orphans: ReadonlyMap<number, ReadonlySet<unknown>>): number {
  return [...orphans.values()].reduce((total, { size }) => total + size, 0);
}

function inOrder(position: ReadonlyMap<string, number>, after: readonly Message[]): boolean {
  let last = -1;
  for (const message of after) {
    const index = position.get(message.id);
    // Another check ensures that results follow their calls.
    if (index === undefined || message.role === 'tool') continue;
    if (index < last) return false;
    last = index;
  }
  return true;
}
