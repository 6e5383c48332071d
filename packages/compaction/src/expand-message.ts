import type { Message, SessionLog } from '@x/core';

/**
 * The message as it was before any compaction, by the id that a stub, a summary or a manifest names.
 *
 * @returns `undefined` when the log does not hold it.
 * @throws what reading the log throws.
 */
export function expandMessage(log: Pick<SessionLog, 'get'>, messageId: string): Promise<Message | undefined> {
  return log.get(messageId);
}
