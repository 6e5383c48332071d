import type { ContentBlock } from '@x/core';
import { plainJson, toolResultBlock } from '@x/core/messages';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { importerOf } from './importer.js';
import { readOutputs } from './parts.js';

const optional = z.string().optional();

/** The schemas of a conversation's events, by type. */
const EVENTS = {
  'session.start': z.looseObject({ sessionId: optional, selectedModel: optional }),
  'session.model_change': z.looseObject({ newModel: optional }),
  'session.compaction_complete': z.looseObject({
    summaryContent: optional,
    preCompactionTokens: z.number().optional(),
  }),
  'system.message': z.looseObject({ content: z.string() }),
  'user.message': z.looseObject({ content: z.string(), source: optional }),
  'assistant.message': z.looseObject({
    messageId: optional,
    content: z.string().default(''),
    reasoningText: z.string().default(''),
    model: optional,
    toolRequests: z
      .array(z.looseObject({ toolCallId: z.string(), name: z.string(), arguments: z.unknown().optional() }))
      .nullish(),
  }),
  'tool.execution_complete': z.looseObject({
    toolCallId: z.string(),
    success: z.boolean().default(true),
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
} as const;

type Kind = keyof typeof EVENTS;
type Data<K extends Kind> = z.output<(typeof EVENTS)[K]>;

const entrySchema = z.looseObject({
  type: z.string().regex(/^[a-z]+\.[a-z_]+$/),
  timestamp: optional,
  /** The id of the subagent, if one wrote the entry. */
  agentId: z.string().nullish(),
  data: z.looseObject({ parentToolCallId: z.string().nullish() }),
});

type Entry = z.output<typeof entrySchema>;

/** Session files of GitHub Copilot CLI, `~/.copilot/session-state/<session>/events.jsonl`: one event per line. */
export const copilotCli = importerOf({
  format: 'copilot-cli',
  describes: 'session files of GitHub Copilot CLI (events.jsonl)',
  entry: entrySchema,
  recognizes: (value) => isEventType(entrySchema.safeParse(value).data?.type),
  readEntry(entry, builder) {
    if (!isEventType(entry.type)) return;
    const data = EVENTS[entry.type].safeParse(entry.data).data;
    if (data === undefined) return builder.unread('event of an unknown shape');
    const isSubagents = entry.agentId != null || entry.data.parentToolCallId != null;
    if (isSubagents) return builder.unread('message of a subagent');
    const read = readers[entry.type] as (data: unknown, entry: Entry, builder: ConversationBuilder) => void;
    read(data, entry, builder);
  },
});

function isEventType(type: string | undefined): type is Kind {
  return type !== undefined && Object.hasOwn(EVENTS, type);
}

const readers: {
  readonly [K in Kind]: (data: Data<K>, entry: Entry, builder: ConversationBuilder) => void;
} = {
  'session.start': ({ sessionId: id, selectedModel: model }, _, builder) => builder.identify({ id, model }),
  'session.model_change': ({ newModel: model }, _, builder) => builder.identify({ model }),
  'session.compaction_complete': (compacted, _, builder) =>
    builder.compaction({
      summary: compacted.summaryContent,
      tokensBefore: compacted.preCompactionTokens,
    }),
  'system.message': ({ content }, _, builder) => builder.system(content),
  'user.message': ({ content, source }, { timestamp: at }, builder) =>
    builder.message('user', [{ type: 'text', text: content }], {
      at,
      wasTyped: () => source === undefined || source === 'user',
    }),
  'assistant.message': (said, { timestamp: at }, builder) => {
    builder.identify({ model: said.model });
    const calls = (said.toolRequests ?? []).map(
      ({ toolCallId: id, name, arguments: input }): ContentBlock => ({
        type: 'tool_use',
        id,
        name,
        input: plainJson(input ?? {}),
      }),
    );
    const thinking = { type: 'thinking', thinking: said.reasoningText } as const;
    builder.message('assistant', [thinking, { type: 'text', text: said.content }, ...calls], {
      at,
      answer: said.messageId,
    });
  },
  'tool.execution_complete': ({ toolCallId: id, success, result, error }, { timestamp: at }, builder) => {
    const wrapped = z.union([
      z.looseObject({ content: z.unknown() }).transform(({ content }) => content),
      z.looseObject({ message: z.unknown() }).transform(({ message }) => message),
    ]);
    const answer = result ?? error ?? '';
    const block = toolResultBlock(
      { id, name: '' },
      readOutputs(wrapped.safeParse(answer).data ?? answer),
      !success,
    );
    builder.message('tool', [block], { at });
  },
};
