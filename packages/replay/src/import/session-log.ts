import { messageSchema, toolResultsOf } from '@x/core';
import type { Importer } from './importer.js';

/** The session log that an agent of `@x/harness` keeps, or the messages that `x sessions export` writes. */
export const sessionLog: Importer = {
  format: 'x-session-log',
  describes:
    "session logs of @x/harness, `agents/<agent>/sessions/<session>.log.jsonl`, and AgentState's context",
  recognises: (value) => messageSchema.safeParse(value).success,
  read(values, builder) {
    for (const value of values) {
      const message = messageSchema.safeParse(value).data;
      if (message === undefined) {
        builder.unread('message of another shape');
        continue;
      }
      const { role, content, createdAt: at, id: answer } = message;
      if (message.kind === 'summary') builder.compaction();
      else if (role === 'user') builder.user(content, { at });
      else if (role === 'assistant') builder.assistant(content, { at, answer });
      for (const { toolUseId, output, isError } of toolResultsOf(message)) {
        builder.result(toolUseId, output, { at, isError });
      }
    }
  },
};
