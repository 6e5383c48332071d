import { SessionKey, type SessionStore } from '@x/core';
import { having } from '@x/core/internal';
import * as z from 'zod';

export const chatSchema = z.strictObject({
  /** Any session store; it stays yours and is never closed. */
  store: having<SessionStore>('commit', 'a SessionStore'),
  /** Whose chats they are: no other tenant's or user's can be read. Default: nobody's. */
  tenantId: z.string().min(1).optional(),
  userId: z.string().min(1).optional(),
});

/** Where chats are kept, and whose they are. */
export type ChatOptions = Readonly<z.input<typeof chatSchema>>;

/** @throws {InvalidInputError} for an empty id. */
export function chatKey({ tenantId, userId }: ChatOptions, chatId: string): SessionKey {
  return SessionKey.of({ tenantId, userId, sessionId: chatId });
}
