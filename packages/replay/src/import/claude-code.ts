import type { ContentBlock } from '@x/core';
import { isObject } from '@x/core/internal';
import { anthropicDialect, geminiDialect, partsOf, readBlocks } from '@x/core/messages';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { followedLast } from './follow-branch.js';
import { type Importer, importerOf } from './importer.js';

const usageSchema = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
});

/**
 * Puts a message around what stands in a row without one: the result of a call, and an attachment. Attachments are words that the user
 * typed while the agent worked, and texts of the program: files, reminders, output of hooks, which a stream has in rows of their own.
 */
function withMessage(row: unknown): unknown {
  if (!isObject(row)) return row;
  if (row.type === 'tool_result' && 'tool_use_id' in row) return { ...row, message: { content: [row] } };
  const isHook = row.subtype === 'hook_response';
  const attachment = isHook ? { type: row.subtype, text: row.output } : row.attachment;
  if (!isObject(attachment)) return row;
  const { type, prompt, origin, commandMode = 'prompt', filename = '' } = attachment;
  const { content, text, snippet, skills } = attachment;
  if (type === 'queued_command') {
    const isMeta = commandMode !== 'prompt' || (isObject(origin) && origin.kind !== 'human');
    return { ...row, type: 'user', isMeta, message: { content: prompt } };
  }
  const said = textIn(content || text || snippet || skills);
  if (said === '') return row;
  return {
    ...row,
    type: 'user',
    isMeta: true,
    message: { content: `${[type, filename].join(' ').trim()}:\n${said}` },
  };
}

/** Returns what an attachment says: a text, the text of a file, or the lines of a list. Empty if it says nothing. */
function textIn(value: unknown): string {
  if (isObject(value)) return textIn(value.content ?? value.file);
  if (!Array.isArray(value)) return typeof value === 'string' ? value : '';
  return value.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))).join('\n');
}

const rowSchema = z.looseObject({
  type: z.string(),
  subtype: z.string().optional(),
  uuid: z.string().optional(),
  parentUuid: z.string().nullish(),
  sessionId: z.string().optional(),
  /** `sessionId` in the output of `--output-format stream-json`. */
  session_id: z.string().optional(),
  timestamp: z.string().optional(),
  isMeta: z.boolean().optional(),
  isSidechain: z.boolean().optional(),
  /** `isSidechain` in that output. */
  parent_tool_use_id: z.string().nullish(),
  isCompactSummary: z.boolean().optional(),
  isApiErrorMessage: z.boolean().optional(),
  compactMetadata: z.looseObject({ preTokens: z.number().optional() }).optional(),
  message: z
    .looseObject({
      id: z.string().optional(),
      model: z.string().optional(),
      content: z.unknown().optional(),
      /** In Qwen Code. */
      parts: z.array(z.unknown()).optional(),
      usage: usageSchema.optional().catch(undefined),
    })
    .optional(),
  model: z.string().optional(),
  /** In Qwen Code. */
  usageMetadata: z
    .looseObject({
      promptTokenCount: z.number(),
      candidatesTokenCount: z.number().default(0),
      cachedContentTokenCount: z.number().default(0),
    })
    .optional()
    .catch(undefined),
});
const entrySchema = z.preprocess(withMessage, rowSchema);

type Entry = z.output<typeof rowSchema>;

/** Matches the beginning of what the program writes in the user's role. */
const WRITTEN_BY_PROGRAM =
  /^\s*(?:<(?:command-(?:name|message|contents)|local-command-\w+|bash-\w+|task-notification|system-reminder|ide_\w+|user-memory-input|user-prompt-submit-hook|teammate-message|qwen:[\w-]+)[\s>]|Stop hook feedback:|\[Request interrupted by user)/;
const REMINDER_END = '</system-reminder>';
const SPOKEN = ['user', 'assistant', 'tool_result'];

/**
 * Reads session logs of Claude Code, `~/.claude/projects/<project>/<session>.jsonl`, those of its subagents, and the output of
 * `--output-format stream-json`: one entry a line, linked by `parentUuid`. Only the last branch counts. Messages between subagents are
 * skipped, unless the file has no others. Qwen Code writes the same entries around Gemini's messages.
 */
export const claudeCode = importerOf({
  format: 'claude-code',
  describes: 'session logs of Claude Code and Qwen Code (JSONL), and `--output-format stream-json`',
  entry: entrySchema,
  recognizes(value) {
    const entry = entrySchema.safeParse(value).data;
    return (
      entry !== undefined &&
      isSpoken(entry) &&
      (entry.uuid ?? entry.session_id ?? entry.timestamp) !== undefined
    );
  },
  tree: {
    parent: 'parentUuid',
    rowOf: (value) =>
      entrySchema
        .transform((entry) => ({ ...rowOf(entry), isSpoken: isSpoken(entry) && !isAside(entry) }))
        .safeParse(value).data,
  },
  choose,
  readEntry,
});

/**
 * Session files of Factory Droid, `~/.factory/sessions/<project>/<session>.jsonl`: the rows of Claude Code with other names of their
 * fields.
 */
export const droid: Importer = {
  ...claudeCode,
  format: 'droid',
  describes: 'session files of Factory Droid (JSONL)',
  recognizes: (value) => isObject(value) && (value.type === 'session_start' || holdsCall(value)),
  tree: { parent: 'parentId', rowOf: (value) => claudeCode.tree?.rowOf(renamed(value)) },
  read: (values, ...others) => claudeCode.read(values.map(renamed), ...others),
};

function renamed(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { message, type, id, parentId } = value;
  return { ...value, type: isObject(message) ? message.role : type, uuid: id, parentUuid: parentId };
}

/** Tests for a message with calls or results as Anthropic writes them. Those of pi have other types. */
function holdsCall({ type, message }: Readonly<Record<string, unknown>>): boolean {
  const parts = type === 'message' && isObject(message) ? partsOf(message.content) : [];
  return parts.some((part) => part.type === 'tool_use' || part.type === 'tool_result');
}

function isAside({ isSidechain, parent_tool_use_id: caller }: Entry): boolean {
  return isSidechain === true || caller != null;
}

function isSpoken({ type, message }: Entry): boolean {
  return SPOKEN.includes(type) && (message?.content ?? message?.parts) !== undefined;
}

function readEntry(entry: Entry, builder: ConversationBuilder): void {
  const { type, message, timestamp: at, usageMetadata } = entry;
  builder.identify({ id: entry.sessionId ?? entry.session_id });
  if (entry.subtype === 'compact_boundary' || entry.subtype === 'chat_compression') {
    builder.compaction({ tokensBefore: entry.compactMetadata?.preTokens });
    return;
  }
  if (message === undefined || !isSpoken(entry)) return;
  if (entry.isCompactSummary === true || entry.isApiErrorMessage === true) return;
  const wasTyped = (text: string) =>
    entry.isMeta !== true && entry.subtype !== 'notification' && !WRITTEN_BY_PROGRAM.test(text);
  builder.message(type === 'assistant' ? type : 'user', blocksOf(entry).flatMap(typedIn), {
    at,
    answer: message.id,
    wasTyped,
  });
  if (type !== 'assistant') return;
  builder.identify({ model: message.model ?? entry.model });
  if (message.usage !== undefined) {
    const { input_tokens, output_tokens, cache_read_input_tokens: read, ...written } = message.usage;
    builder.usage(input_tokens, output_tokens, read ?? 0, written.cache_creation_input_tokens ?? 0);
  } else if (usageMetadata !== undefined) {
    const { promptTokenCount: input, candidatesTokenCount, cachedContentTokenCount: cached } = usageMetadata;
    builder.usage(input - cached, candidatesTokenCount, cached);
  }
}

/** Unwraps a typed command, which is logged as elements, and a text behind a reminder. Both are the user's own words. */
function typedIn(block: ContentBlock): readonly ContentBlock[] {
  if (block.type !== 'text') return [block];
  const end = block.text.trimStart().startsWith('<system-reminder>')
    ? block.text.lastIndexOf(REMINDER_END) + REMINDER_END.length
    : 0;
  const said = block.text.slice(end);
  if (end > 0 && said.trim() !== '')
    return [
      { type: 'text', text: block.text.slice(0, end) },
      ...typedIn({ type: 'text', text: said.trim() }),
    ];
  if (!block.text.trimStart().startsWith('<command-')) return [block];
  const inside = (tag: string) => block.text.split(`<${tag}>`, 2)[1]?.split(`</${tag}>`, 1)[0]?.trim() ?? '';
  const words = inside('command-args');
  return words === '' ? [block] : [{ type: 'text', text: `${inside('command-name')} ${words}` }];
}

/**
 * Chooses the entries of the conversation, in the order of the file. Returns and results of parallel calls are logged as a chain
 * with side arms: fragments of an answer on the branch belong to it, and so do results, except those of calls on another branch.
 */
function choose(entries: readonly Entry[], builder: ConversationBuilder): readonly Entry[] {
  const spoken = entries.filter(isSpoken);
  for (const { type, message, attachment } of entries) {
    if (message === undefined && isObject(attachment))
      builder.unread(`attachment of type ${attachment.type}`);
    if (message !== undefined && message.parts?.length !== 0 && !SPOKEN.includes(type))
      builder.unread(`message in a row of type ${type}`);
  }
  const isSubagents = spoken.length > 0 && spoken.every(isAside);
  const own = isSubagents ? entries : entries.filter((entry) => !isAside(entry));
  if (!isSubagents) for (const entry of spoken) if (isAside(entry)) builder.unread('message of a subagent');
  const { followed, others } = followedLast(own, rowOf, builder);
  const answers = new Set(
    followed.flatMap(({ type, message }) => (type === 'assistant' && message?.id) || []),
  );
  const ofAnswer = ({ type, message }: Entry) => type === 'assistant' && answers.has(message?.id as string);
  const elsewhere = new Set(
    others
      .filter((entry) => !ofAnswer(entry))
      .flatMap(blocksOf)
      .flatMap((block) => (block.type === 'tool_use' ? block.id : [])),
  );
  const isResult = (entry: Entry) => {
    const blocks = blocksOf(entry);
    return blocks.length > 0 && blocks.every((b) => b.type === 'tool_result' && !elsewhere.has(b.toolUseId));
  };
  const chosen = new Set(followed);
  for (const entry of others) {
    if (ofAnswer(entry) || isResult(entry)) chosen.add(entry);
    else builder.unread('message of a branch that was given up');
  }
  return own.filter((entry) => chosen.has(entry));
}

function rowOf(entry: Entry) {
  return {
    id: entry.uuid,
    parent: entry.parentUuid,
    session: entry.sessionId,
    message: entry.message,
    isSpoken: isSpoken(entry),
    continues: entry.subtype === 'compact_boundary',
  };
}

function blocksOf({ message }: Entry): readonly ContentBlock[] {
  if (message === undefined) return [];
  return readBlocks(message.parts === undefined ? anthropicDialect : geminiDialect, message);
}
