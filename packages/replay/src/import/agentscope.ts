import { AgentState, InvalidInputError, parseWith } from '@x/core';
import * as z from 'zod';
import { ConversationBuilder } from './conversation-builder.js';
import { importerOf } from './importer.js';
import { readOutput, readParts, textsOf } from './parts.js';

const message = z.looseObject({
  role: z.enum(['USER', 'ASSISTANT', 'SYSTEM', 'TOOL']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  name: z.string().nullish(),
  /** As `2026-01-31 09:30:00.000`, in the zone of the machine that wrote it and read as UTC; in session files an instant. */
  timestamp: z.union([z.string(), z.number()]).nullish(),
  /** In session files, where each block that is no text is an entry of its own. */
  type: z.literal('message').optional(),
  id: z.string().nullish(),
  /** What the message was made of where none of it is in the file. */
  blockTypes: z.array(z.string()).nullish(),
});

/** What session files hold beside messages; an id is that of the message, `:use:` or `:result:`, and that of the call. */
const block = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    timestamp: message.shape.timestamp,
    toolCallId: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.json()).nullish(),
  }),
  z.object({
    type: z.literal('tool_result'),
    id: z.string(),
    timestamp: message.shape.timestamp,
    toolCallId: z.string(),
    output: z.string().nullish(),
  }),
]);
const mark = z.discriminatedUnion('type', [
  z.object({ type: z.literal('compaction'), id: z.string() }),
  z.object({ type: z.literal('summary'), id: z.string(), summary: z.string().nullish() }),
]);
const entrySchema = z.union([message, block, mark]);

/** The name of the messages in which AgentScope keeps its summaries. */
const SUMMARY = '__compaction_summary__';
/** What a call has as its state while a person decides on it. */
const askingSchema = z.object({
  content: z.array(
    z
      .object({ type: z.unknown(), id: z.coerce.string(), state: z.unknown() })
      .catch({ type: '', id: '', state: '' }),
  ),
});

type Block = Readonly<Record<string, unknown>> & { readonly type: string };

/** Messages of AgentScope, as its session files and the `context` of its agent state hold them. */
export const agentscope = importerOf({
  format: 'agentscope',
  describes: 'agent state and session files of AgentScope (JSON, JSONL)',
  entry: entrySchema,
  recognizes: (value) => message.safeParse(value).success || block.safeParse(value).success,
  readEntry(entry, builder) {
    if ('role' in entry) readMessage(entry, builder);
    else if (entry.type === 'summary') builder.compaction(entry.summary ? { summary: entry.summary } : {});
    // Its summary is an entry of its own.
    else if (entry.type !== 'compaction') {
      const placed = { at: timeOf(entry.timestamp) };
      const { toolCallId: id } = entry;
      if (entry.type === 'tool_result') builder.result(id, readOutput(entry.output ?? ''), placed);
      else {
        const call = { type: 'tool_use' as const, id, name: entry.name, input: entry.input ?? {} };
        builder.assistant([call], { ...placed, answer: entry.id.split(':use:')[0] });
      }
    }
  },
});

function readMessage(
  { type, id, role, name, content, timestamp, blockTypes }: z.output<typeof message>,
  builder: ConversationBuilder,
): void {
  const placed = { at: timeOf(timestamp) };
  const missing = blockTypes?.filter((each) => each !== 'empty') ?? [];
  const text = content === '' && missing.length > 0 ? `[${missing.join(', ')}: not in the file]` : content;
  const blocks: readonly Block[] = typeof text === 'string' ? [{ type: 'text', text }] : text;
  const said = readParts(blocks.filter((each) => each.type !== 'tool_result'));
  if (role === 'SYSTEM') builder.system(textsOf(said));
  else if (role === 'ASSISTANT')
    builder.assistant(said, { ...placed, ...(type === undefined ? {} : { answer: id ?? undefined }) });
  else if (said.length > 0) builder.user(said, { ...placed, kind: name === SUMMARY ? 'summary' : undefined });
  for (const each of blocks) {
    if (each.type !== 'tool_result') continue;
    const isError = ['error', 'denied', 'interrupted'].includes(String(each.state));
    builder.result(String(each.id), readOutput(each.output), { ...placed, isError });
  }
}

function timeOf(timestamp: string | number | null | undefined): string | undefined {
  const text = typeof timestamp === 'string' ? timestamp.replace(' ', 'T') : '';
  const ms =
    typeof timestamp === 'number' ? timestamp * 1000 : Date.parse(text.endsWith('Z') ? text : `${text}Z`);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function isAsking({ type, state }: { readonly type?: unknown; readonly state?: unknown }): boolean {
  return type === 'tool_use' && state === 'asking';
}

/** Puts the text of `summary` in front of the messages, as AgentScope shows it to its model, unless they hold it. */
export function withSummary(context: readonly unknown[], summary: unknown): readonly unknown[] {
  const text = typeof summary === 'string' ? summary.trim() : '';
  const isOther = context.length > 0 && !context.some(agentscope.recognizes);
  const holds = (entry: unknown) => {
    const { data } = message.safeParse(entry);
    return data?.name === SUMMARY && JSON.stringify(data.content).includes(JSON.stringify(text).slice(1, -1));
  };
  if (text === '' || isOther || context.some(holds)) return context;
  return [{ role: 'USER', name: SUMMARY, content: text }, ...context];
}

/** The messages of version 1. */
export const memorySchema = z.looseObject({ messages: z.array(z.unknown()) });

const stateSchema = z.looseObject({
  session_id: z.string().min(1).nullish(),
  user_id: z.string().min(1).nullish(),
  summary: z.string().nullish(),
  context: z.array(z.unknown()).optional(),
  /** Where version 1 keeps the messages. */
  memory: memorySchema.optional(),
  tasks_context: z
    .looseObject({
      tasks: z
        .array(
          z.looseObject({
            subject: z.string().min(1),
            description: z.string().nullish(),
            state: z.enum(['pending', 'in_progress', 'completed']),
          }),
        )
        .default([]),
    })
    .optional(),
  plan_mode_context: z
    .looseObject({ plan_active: z.boolean().default(false), current_plan_file: z.string().nullish() })
    .optional(),
});

/**
 * Makes an agent's state of AgentScope's `agent_state` document: the session and its user, messages, tasks as todos, plan mode.
 * Summaries stay summaries, `summary` is one more in front, and a call on which a person decides stays open.
 * Permission rules do not go along: what a tool may do is decided anew.
 *
 * @param options `sessionId` is that of a document that names none, such as the name of its file.
 * @throws {InvalidInputError} naming the path of every bad field.
 */
export function stateFromAgentscope(
  value: unknown,
  options: { readonly sessionId?: string | undefined } = {},
): AgentState {
  const subject = 'agent state of AgentScope';
  const state = parseWith(stateSchema, value, subject);
  const sessionId = state.session_id ?? options.sessionId;
  if (!sessionId) {
    const message = 'is missing; name the session: stateFromAgentscope(document, { sessionId })';
    throw new InvalidInputError(subject, [{ path: 'session_id', message }]);
  }
  const path = state.context === undefined && state.memory !== undefined ? 'memory.messages' : 'context';
  const context = state.context ?? state.memory?.messages ?? [];
  const unread = context.flatMap((entry, index) =>
    agentscope.recognizes(entry)
      ? []
      : [{ path: `${path}[${index}]`, message: 'is no message of AgentScope; take it out, or mend it' }],
  );
  if (unread.length > 0) throw new InvalidInputError(subject, unread);
  if (context.length === 0 && state.context === undefined && !state.summary) {
    const message = 'is missing; it holds the messages, or memory.messages does, as version 1 writes them';
    throw new InvalidInputError(subject, [{ path, message }]);
  }
  const builder = new ConversationBuilder(agentscope.format);
  agentscope.read(withSummary(context, state.summary), builder);
  const made = AgentState.create({
    sessionId,
    ...(state.user_id ? { userId: state.user_id } : {}),
  });
  const asking = context.flatMap(
    (entry) =>
      askingSchema
        .safeParse(entry)
        .data?.content.filter(isAsking)
        .map(({ id }) => id) ?? [],
  );
  made.contextMutable().push(...builder.build(new Set(asking)).messages);
  const tasks = state.tasks_context?.tasks ?? [];
  made.tasksContext = {
    todos: tasks.map(({ subject, description, state: status }) => ({
      content: description?.trim() ? `${subject}: ${description.trim()}` : subject,
      status,
    })),
  };
  const { plan_active: active = false, current_plan_file: file } = state.plan_mode_context ?? {};
  made.planModeContext = { active, ...(file ? { planFile: file } : {}) };
  return made;
}
