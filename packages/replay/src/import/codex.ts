import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { importerOf } from './importer.js';
import { readItem } from './provider-messages.js';

const lineSchema = z.looseObject({
  timestamp: z.string().optional(),
  type: z.enum(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted']),
  payload: z.looseObject({ type: z.string().optional() }),
});

const metaSchema = z.looseObject({
  id: z.string().optional(),
  instructions: z.string().nullish(),
  base_instructions: z.looseObject({ text: z.string() }).nullish(),
});

const usageSchema = z.looseObject({
  info: z.looseObject({
    last_token_usage: z.looseObject({
      input_tokens: z.number(),
      cached_input_tokens: z.number().default(0),
      output_tokens: z.number(),
    }),
  }),
});

type Line = z.output<typeof lineSchema>;

/**
 * Rollout files of the Codex CLI, `~/.codex/sessions/<year>/<month>/<day>/rollout-….jsonl`: `response_item` lines are the messages to and
 * from the model. Events repeat them for display, and add the billed tokens.
 */
export const codex = importerOf({
  format: 'codex',
  describes: 'Codex CLI rollout files (JSONL)',
  entry: lineSchema,
  readEntry: (line, builder) => readers[line.type](line, builder),
});

const readers: Readonly<Record<Line['type'], (line: Line, builder: ConversationBuilder) => void>> = {
  session_meta({ payload }, builder) {
    const meta = metaSchema.safeParse(payload).data;
    builder.identify({ id: meta?.id });
    builder.system(meta?.base_instructions?.text ?? meta?.instructions ?? '');
  },
  turn_context({ payload }, builder) {
    if (typeof payload.model === 'string') builder.identify({ model: payload.model });
  },
  response_item({ payload, timestamp }, builder) {
    readItem(payload, timestamp, builder);
  },
  event_msg({ payload }, builder) {
    if (payload.type === 'thread_rolled_back') {
      const { num_turns: turns } = payload;
      if (typeof turns === 'number' && turns > 0) builder.rollBack(turns);
      return;
    }
    const usage = payload.type === 'token_count' ? usageSchema.safeParse(payload).data : undefined;
    if (usage === undefined) return;
    const { input_tokens, cached_input_tokens, output_tokens } = usage.info.last_token_usage;
    builder.usage(input_tokens - cached_input_tokens, output_tokens, cached_input_tokens);
  },
  compacted({ payload }, builder) {
    const { message } = payload;
    builder.compaction(typeof message === 'string' && message !== '' ? { summary: message } : {});
  },
};
