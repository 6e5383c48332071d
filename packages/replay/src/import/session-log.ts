import { type Message, messageSchema } from '@x/core';
import { isOfUser } from '@x/core/internal';
import * as z from 'zod';
import type { Importer } from './importer.js';

/** The session log of an agent of `@x/harness`, or the output of `x sessions export`. */
export const sessionLog: Importer = {
  format: 'x-session-log',
  describes:
    "session logs of @x/harness, `agents/<agent>/sessions/<session>.log.jsonl`, and AgentState's context",
  recognizes: (value) => readMessage(value) !== undefined,
  read(values, builder) {
    for (const value of values) {
      const message = readMessage(value);
      if (message === undefined) {
        if (!state.safeParse(value).success) builder.unread('message of an unknown shape');
        continue;
      }
      const { role, content, createdAt: at, id: answer } = message;
      if (message.kind === 'summary') builder.compaction();
      else builder.message(role, content, { at, answer, wasTyped: () => isOfUser(message) });
    }
  },
};

/** `x sessions export` writes the state first, then one object with a `message` per line. */
const state = z.looseObject({ type: z.literal('state') });
const exported = z.looseObject({ type: z.literal('log'), message: messageSchema });

function readMessage(value: unknown): Message | undefined {
  return messageSchema.safeParse(value).data ?? exported.safeParse(value).data?.message;
}
