import { SessionKey, type SessionStore } from '@x/core';
import { having } from '@x/core/internal';
import * as z from 'zod';

export const chatSchema = z.strictObject({
  /** A session store that has collections. The caller owns the store: it is never closed here. */
  store: having<SessionStore>('commit', 'a SessionStore'),
  /** Tenant and user of the chats. Chats of other tenants and users cannot be read. Default: none. */
  tenantId: z.string().min(1).optional(),
  userId: z.string().min(1).optional(),
});

/** The store and the owner of chats. */
export type ChatOptions = Readonly<z.input<typeof chatSchema>>;

/**
 * Returns the store key of a chat.
 *
 * @throws {InvalidInputError} if the id is empty.
 */
export function chatKey({ tenantId, userId }: ChatOptions, chatId: string): SessionKey {
  return SessionKey.of({ tenantId, userId, sessionId: chatId });
}
