import type { ContentBlock } from '@x/core';
import { geminiDialect, plainJson, readBlocks, toolResultBlock } from '@x/core/messages';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { importerOf, type JsonAround } from './importer.js';

const thought = z.looseObject({ subject: z.string().default(''), description: z.string().default('') });

const toolCall = z.looseObject({
  id: z.string(),
  name: z.string(),
  args: z.unknown().optional(),
  result: z.unknown().optional(),
  status: z.string().optional(),
  resultDisplay: z.unknown().optional(),
});

const message = z.looseObject({
  id: z.string(),
  type: z.enum(['user', 'gemini', 'info', 'error', 'warning']),
  timestamp: z.string().optional(),
  content: z.unknown().optional(),
  /** The message as displayed, if the program sent something else to the model, such as a command's prompt or files. */
  displayContent: z.unknown().optional(),
  thoughts: z.array(thought).nullish().catch(undefined),
  toolCalls: z.array(toolCall).nullish().catch(undefined),
  model: z.string().optional(),
  tokens: z
    .looseObject({ input: z.number(), output: z.number(), cached: z.number().default(0) })
    .nullish()
    .catch(undefined),
});

/** A line of a JSONL file that is not a message. */
const instruction = z.union([
  z.looseObject({ $rewindTo: z.string() }),
  z.looseObject({ $set: z.looseObject({ messages: z.array(message).optional() }) }),
  z.looseObject({ sessionId: z.string(), projectHash: z.string() }),
]);

type Row = z.output<typeof message>;

const WRITTEN_BY_PROGRAM = /^\s*(?:<session_context>|This is the Gemini CLI\. We are setting up the context)/;

/**
 * Session files of Gemini CLI, `~/.gemini/tmp/<project>/chats/session-….json` or `.jsonl`. In a JSONL file a message replaces the earlier
 * message with the same id, and `$rewindTo` removes a message and everything after it.
 */
export const geminiCli = importerOf({
  format: 'gemini-cli',
  describes: 'session files of Gemini CLI (JSON or JSONL)',
  entry: z.union([message, instruction]),
  recognizes: (value) => {
    const type = message.safeParse(value).data?.type;
    return type === 'gemini' || instruction.safeParse(value).success;
  },
  choose(entries, builder, around) {
    identify(around, builder);
    let rows: Row[] = [];
    for (const entry of entries) {
      const row = message.safeParse(entry).data;
      if (row !== undefined) {
        const known = rows.findIndex(({ id }) => id === row.id);
        if (known >= 0) rows[known] = row;
        else rows.push(row);
      } else if ('$rewindTo' in entry) {
        const place = rows.findIndex(({ id }) => id === entry.$rewindTo);
        const taken = place < 0 ? [] : rows.splice(place);
        for (const { type } of taken)
          if (type === 'user' || type === 'gemini') builder.unread('undone message');
      } else if ('$set' in entry) {
        const { messages } = (entry as { $set: { messages?: Row[] } }).$set;
        rows = messages ?? rows;
      } else identify(entry as JsonAround, builder);
    }
    return rows;
  },
  readEntry(entry, builder) {
    const row = entry as Row;
    const info = { at: row.timestamp, answer: row.id };
    const said = readBlocks(geminiDialect, { parts: row.content });
    if (row.type === 'user') {
      const shown =
        row.displayContent === undefined ? said : readBlocks(geminiDialect, { parts: row.displayContent });
      const typed = new Set(shown.flatMap((block) => (block.type === 'text' ? block.text : [])));
      const others = said.filter((block) => block.type !== 'text' || !typed.has(block.text));
      const words = [...typed].map((text) => ({ type: 'text', text }) as const);
      const wasTyped = (text: string) => typed.has(text) && !WRITTEN_BY_PROGRAM.test(text);
      return builder.message('user', shown === said ? said : [...words, ...others], { ...info, wasTyped });
    }
    if (row.type !== 'gemini') return;
    builder.identify({ model: row.model });
    const calls = (row.toolCalls ?? []).flatMap(({ id, name, args, ...call }): ContentBlock[] => {
      const use = { type: 'tool_use', id, name, input: plainJson(args ?? {}) } as const;
      const isOpen = call.result == null && call.resultDisplay == null;
      return isOpen ? [use] : [use, toolResultBlock(use, ...resultOf(call))];
    });
    const thoughts = (row.thoughts ?? []).map(({ subject, description }) =>
      `${subject}\n${description}`.trim(),
    );
    const thinking = { type: 'thinking', thinking: thoughts.join('\n\n') } as const;
    builder.message('assistant', [thinking, ...said, ...calls], info);
    if (row.tokens == null) return;
    const { input, output, cached } = row.tokens;
    builder.usage(input - cached, output, cached);
  },
});

const text = z.string().default('');
const event = z
  .looseObject({
    type: z.enum(['init', 'message', 'tool_use', 'tool_result', 'result']),
    timestamp: z.string().optional(),
    session_id: z.string().optional(),
    model: z.string().optional(),
    role: z.enum(['user', 'assistant']).default('assistant'),
    content: text,
    /** `true` for a fragment of a text. */
    delta: z.boolean().default(false),
    tool_id: text,
    tool_name: z.string().min(1).default('unknown'),
    parameters: z.unknown().optional(),
    status: z.string().optional(),
    output: text,
  })
  .refine(({ type, tool_id }) => tool_id !== '' || !type.startsWith('tool_'));

/** Output of Gemini CLI with `--output-format stream-json`: calls, results, and fragments of texts, which are joined. */
export const geminiStream = importerOf({
  format: 'gemini-stream',
  describes: 'output of Gemini CLI with `--output-format stream-json` (JSONL)',
  entry: event,
  recognizes: (value) => (event.safeParse(value).data?.tool_id ?? '') !== '',
  choose(entries) {
    const joined: z.output<typeof event>[] = [];
    for (const entry of entries) {
      const last = joined.at(-1);
      if (entry.delta && last?.type === 'message' && last.role === entry.role)
        joined.splice(-1, 1, { ...last, content: last.content + entry.content });
      else joined.push(entry);
    }
    return joined;
  },
  readEntry({ type, role, timestamp: at, tool_id: id, tool_name: name, ...entry }, builder) {
    if (type === 'init') builder.identify({ id: entry.session_id, model: entry.model });
    else if (type === 'message') builder.message(role, [{ type: 'text', text: entry.content }], { at });
    else if (type === 'tool_use') {
      const input = plainJson(entry.parameters ?? {});
      builder.message('assistant', [{ type, id, name, input }], { at });
    } else if (type === 'tool_result') {
      const isError = entry.status === 'error';
      builder.message('tool', [toolResultBlock({ id, name }, entry.output, isError)], { at });
    }
  },
});

function identify({ sessionId }: JsonAround, builder: ConversationBuilder): void {
  if (typeof sessionId === 'string') builder.identify({ id: sessionId });
}

/** Returns the output that the model received, and whether it is an error. If the log lacks the output, returns the displayed text. */
function resultOf({
  result,
  status,
  resultDisplay,
}: Omit<z.output<typeof toolCall>, 'id' | 'name' | 'args'>) {
  const answers = readBlocks(geminiDialect, { parts: result ?? [] });
  const output = answers.flatMap((block) => {
    if (block.type === 'tool_result') return block.output;
    return block.type === 'text' || block.type === 'file' ? [block] : [];
  });
  const shown = typeof resultDisplay === 'string' ? resultDisplay : JSON.stringify(resultDisplay ?? '');
  const isError = status === 'error' || status === 'cancelled';
  return [output.length > 0 ? output : [{ type: 'text' as const, text: shown }], isError] as const;
}
