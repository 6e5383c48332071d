import type { Message } from '@x/core';
import { toolResultsOf } from '@x/core';
import { type MessageGroup, pairingOf } from '@x/core/messages';
import { firstUserRequest, latestUserRequest, startOfUnseen } from '../conversation/regions.js';
import { type Reduction, saysAnything } from '../stage.js';
import { checkConversation, sharedId } from './check-request.js';

const ROLES: ReadonlySet<unknown> = new Set([
  'system',
  'user',
  'assistant',
  'tool',
] satisfies Message['role'][]);

/**
 * Returns why a reduction is invalid, or `undefined` if it is valid. In a valid reduction every call keeps its result, every change has a
 * fate, no pinned message is removed, at least one message is left, and the remaining messages keep their order. A result that no model
 * has seen is never removed, and is not changed while the request fits.
 *
 * @param fitted Whether the request before the reduction fitted the window.
 * @throws {InvalidInputError} for an invalid message.
 */
export function problemWith(
  before: readonly Message[],
  reduction: Reduction,
  fitted: boolean,
): string | undefined {
  const { messages: after, fates } = reduction;
  checkConversation(after);
  const position = new Map(before.map(({ id }, index) => [id, index]));
  // Messages of a caller may lack fields that no stage needs. An agent stores what a stage adds.
  for (const { id, role, createdAt } of after) {
    if (position.has(id)) continue;
    if (!ROLES.has(role) || typeof createdAt !== 'string')
      return `message ${id} needs a role and createdAt: create it with userMessage or a similar function`;
  }
  const shared = sharedId(after);
  if (shared !== undefined) return `two messages have the id ${JSON.stringify(shared)}`;
  if (saysAnything(before) && !saysAnything(after)) return 'the whole conversation was removed';
  const accounted = new Set(fates.map((fate) => fate.messageId));
  const staying = new Map(after.map((message) => [message.id, message]));
  const isTouched = (message: Message | undefined) =>
    message !== undefined && staying.get(message.id) !== message;
  for (const message of before) {
    const now = staying.get(message.id);
    if (now === message) continue;
    if (!accounted.has(message.id)) {
      return `message ${message.id} was ${now ? 'altered' : 'removed'} without an entry in the manifest`;
    }
    if (message.role === 'system') return 'a system message was removed';
    if (now && now.role !== message.role) return `the role of message ${message.id} was changed`;
  }

  if (isTouched(before[latestUserRequest(before)])) return 'the latest user message was removed';
  const first = before[firstUserRequest(before)];
  const isReplaced = fates.some(
    ({ messageId, fate }) => messageId === first?.id && (fate === 'summarized' || fate === 'replaced'),
  );
  if (first && !staying.has(first.id) && !isReplaced)
    return 'the first user request was removed, and nothing replaces it';

  const was = pairingOf(before);
  for (let index = startOfUnseen(before); index < before.length; index++) {
    const message = before[index] as Message;
    if (toolResultsOf(message).length === 0 || was.orphanResults.has(index)) continue;
    if (!staying.has(message.id)) return 'a result that no model has seen was removed';
    if (fitted && isTouched(message))
      return 'a result that no model has seen was altered, although it fits the window';
  }

  const is = pairingOf(after);
  const lost =
    sizeOf(is.orphanCalls) > sizeOf(was.orphanCalls) || sizeOf(is.orphanResults) > sizeOf(was.orphanResults);
  if (lost) return 'a tool call was separated from its result';
  if (is.scattered.size > was.scattered.size) return 'a message was put between a tool call and its result';
  const isOpenTouched = ({ start, end, open }: MessageGroup) =>
    open && before.slice(start, end).some(isTouched);
  if (was.groups.some(isOpenTouched)) return 'an open tool call was altered or removed';
  return inOrder(position, after) ? undefined : 'the order of the remaining messages was changed';
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
