import type { ContentBlock } from '@x/core';
import { isObject } from '@x/core/internal';
import { anthropicDialect, geminiDialect, partsOf, readBlocks } from '@x/core/messages';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { followLastBranch } from './follow-branch.js';
import { type Importer, importerOf } from './importer.js';

const usageSchema = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
});

/**
 * Adds a message to a row that lacks one but has a tool result, an attachment or the output of a hook. An attachment is a text that the
 * user typed while the agent worked, or a text of the program, such as a file or a reminder.
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

/** Returns the text of an attachment: a text, the text of a file, or the lines of a list. Empty if it has none. */
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
  /** Like `sessionId`, in the output of `--output-format stream-json`. */
  session_id: z.string().optional(),
  timestamp: z.string().optional(),
  isMeta: z.boolean().optional(),
  isSidechain: z.boolean().optional(),
  /** Like `isSidechain`, in the output of `--output-format stream-json`. */
  parent_tool_use_id: z.string().nullish(),
  isCompactSummary: z.boolean().optional(),
  isApiErrorMessage: z.boolean().optional(),
  /** Set in rows that a tool wrote. */
  toolUseResult: z.unknown().optional(),
  compactMetadata: z.looseObject({ preTokens: z.number().optional() }).optional(),
  message: z
    .looseObject({
      id: z.string().optional(),
      model: z.string().optional(),
      content: z.unknown().optional(),
      /** Like `content`, in logs of Qwen Code. */
      parts: z.array(z.unknown()).optional(),
      usage: usageSchema.optional().catch(undefined),
    })
    .optional(),
  model: z.string().optional(),
  /** Like `message.usage`, in logs of Qwen Code. */
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

/** Matches the beginning of texts that the program itself writes in the user's role. */
const WRITTEN_BY_PROGRAM =
  /^\s*(?:<(?:command-(?:name|message|contents)|local-command-\w+|bash-\w+|task-notification|system-reminder|ide_\w+|user-memory-input|user-prompt-submit-hook|teammate-message|qwen:[\w-]+)[\s>]|Stop hook feedback:|\[Request interrupted by user)/;
const [REMINDER, REMINDER_END] = ['<system-reminder>', '</system-reminder>'];
const MESSAGE_TYPES = ['user', 'assistant', 'tool_result'];

/**
 * Reads session logs of Claude Code, `~/.claude/projects/<project>/<session>.jsonl`, those of its subagents, and the output of
 * `--output-format stream-json`: one entry per line, linked by `parentUuid`. Only the last branch is read. Messages of subagents are
 * skipped, unless the file has no others. Qwen Code writes the same entries, with messages in Gemini's format.
 */
export const claudeCode = importerOf({
  format: 'claude-code',
  describes: 'session logs of Claude Code and Qwen Code (JSONL), and `--output-format stream-json`',
  entry: entrySchema,
  recognizes(value) {
    const entry = entrySchema.safeParse(value).data;
    return (
      entry !== undefined &&
      isMessage(entry) &&
      (entry.uuid ?? entry.session_id ?? entry.timestamp) !== undefined
    );
  },
  tree: {
    parent: 'parentUuid',
    rowOf: (value) =>
      entrySchema
        .transform((entry) => ({ ...rowOf(entry), isMessage: isMessage(entry) && !isNested(entry) }))
        .safeParse(value).data,
  },
  choose,
  readEntry,
});

/** Session files of Factory Droid, `~/.factory/sessions/<project>/<session>.jsonl`: rows as in Claude Code, with other field names. */
export const droid: Importer = {
  ...claudeCode,
  format: 'droid',
  describes: 'session files of Factory Droid (JSONL)',
  recognizes: (value) => isObject(value) && (value.type === 'session_start' || hasToolPart(value)),
  tree: { parent: 'parentId', rowOf: (value) => claudeCode.tree?.rowOf(renamed(value)) },
  read: (values, ...others) => claudeCode.read(values.map(renamed), ...others),
};

function renamed(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { message, type, id, parentId } = value;
  return { ...value, type: isObject(message) ? message.role : type, uuid: id, parentUuid: parentId };
}

/** Tests for a message with tool calls or results in Anthropic's format. In the logs of pi, they have other types. */
function hasToolPart({ type, message }: Readonly<Record<string, unknown>>): boolean {
  const parts = type === 'message' && isObject(message) ? partsOf(message.content) : [];
  return parts.some((part) => part.type === 'tool_use' || part.type === 'tool_result');
}

/** Tests if the row belongs to a subagent. */
function isNested({ isSidechain, parent_tool_use_id: caller }: Entry): boolean {
  return isSidechain === true || caller != null;
}

function isMessage({ type, message }: Entry): boolean {
  return MESSAGE_TYPES.includes(type) && (message?.content ?? message?.parts) !== undefined;
}

function readEntry(entry: Entry, builder: ConversationBuilder): void {
  const { type, message, timestamp: at, usageMetadata } = entry;
  builder.identify({ id: entry.sessionId ?? entry.session_id });
  if (entry.subtype === 'compact_boundary' || entry.subtype === 'chat_compression') {
    builder.compaction({ tokensBefore: entry.compactMetadata?.preTokens });
    return;
  }
  if (message === undefined || !isMessage(entry)) return;
  if (entry.isCompactSummary === true || entry.isApiErrorMessage === true) {
    builder.unread(entry.isCompactSummary === true ? 'summary of a compaction' : 'error of the API');
    return;
  }
  if (type !== 'assistant') {
    const isOfProgram =
      type !== 'user' ||
      entry.isMeta === true ||
      entry.subtype === 'notification' ||
      entry.toolUseResult !== undefined;
    const wasTyped = (text: string) => !isOfProgram && !WRITTEN_BY_PROGRAM.test(text);
    builder.message('user', blocksOf(entry).flatMap(typedIn), { at, answer: message.id, wasTyped });
    return;
  }
  builder.message(type, blocksOf(entry), { at, answer: message.id });
  builder.identify({ model: message.model ?? entry.model });
  if (message.usage !== undefined) {
    const { input_tokens, output_tokens, cache_read_input_tokens: read, ...written } = message.usage;
    builder.usage(input_tokens, output_tokens, read ?? 0, written.cache_creation_input_tokens ?? 0);
  } else if (usageMetadata !== undefined) {
    const { promptTokenCount: input, candidatesTokenCount, cachedContentTokenCount: cached } = usageMetadata;
    builder.usage(input - cached, candidatesTokenCount, cached);
  }
}

/**
 * Extracts what the user typed: a command, which is logged as elements, or the text before the first and after the last tag of reminders. A
 * file that a reminder quotes may contain such tags.
 */
function typedIn(block: ContentBlock): readonly ContentBlock[] {
  if (block.type !== 'text') return [block];
  const [start, end] = [block.text.indexOf(REMINDER), block.text.lastIndexOf(REMINDER_END)];
  if (start >= 0 && end > start) {
    const last = end + REMINDER_END.length;
    const [before, after] = [block.text.slice(0, start), block.text.slice(last)].map((text) =>
      text.trim() === '' ? [] : typedIn({ type: 'text', text: text.trim() }),
    ) as [readonly ContentBlock[], readonly ContentBlock[]];
    return [...before, { type: 'text', text: block.text.slice(start, last) }, ...after];
  }
  if (!block.text.trimStart().startsWith('<command-')) return [block];
  const inside = (tag: string) => block.text.split(`<${tag}>`, 2)[1]?.split(`</${tag}>`, 1)[0]?.trim() ?? '';
  const words = inside('command-args');
  return words === '' ? [block] : [{ type: 'text', text: `${inside('command-name')} ${words}` }];
}

/**
 * Chooses the entries of the conversation, in the order of the file. Parallel calls and their results are logged on short side branches. So
 * entries outside the branch are also chosen if they are fragments of an answer on the branch, or results whose calls are not on another
 * branch.
 */
function choose(entries: readonly Entry[], builder: ConversationBuilder): readonly Entry[] {
  const spoken = entries.filter(isMessage);
  for (const { type, message, attachment } of entries) {
    if (message === undefined && isObject(attachment))
      builder.unread(`attachment of type ${attachment.type}`);
    if (message !== undefined && message.parts?.length !== 0 && !MESSAGE_TYPES.includes(type))
      builder.unread(`message in a row of type ${type}`);
  }
  const isNestedLog = spoken.length > 0 && spoken.every(isNested);
  const own = isNestedLog ? entries : entries.filter((entry) => !isNested(entry));
  if (!isNestedLog) for (const entry of spoken) if (isNested(entry)) builder.unread('message of a subagent');
  const { followed, others } = followLastBranch(own, rowOf, builder);
  const answers = new Set(
    followed.flatMap(({ type, message }) => (type === 'assistant' && message?.id) || []),
  );
  const isFragment = ({ type, message }: Entry) => type === 'assistant' && answers.has(message?.id as string);
  const otherCalls = new Set(
    others
      .filter((entry) => !isFragment(entry))
      .flatMap(blocksOf)
      .flatMap((block) => (block.type === 'tool_use' ? block.id : [])),
  );
  const isResult = (entry: Entry) => {
    const blocks = blocksOf(entry);
    return blocks.length > 0 && blocks.every((b) => b.type === 'tool_result' && !otherCalls.has(b.toolUseId));
  };
  const chosen = new Set(followed);
  for (const entry of others) {
    if (isFragment(entry) || isResult(entry)) chosen.add(entry);
    else builder.unread('message of an abandoned branch');
  }
  return own.filter((entry) => chosen.has(entry));
}

function rowOf(entry: Entry) {
  return {
    id: entry.uuid,
    parent: entry.parentUuid,
    session: entry.sessionId,
    message: entry.message,
    isMessage: isMessage(entry),
    continues: entry.subtype === 'compact_boundary',
  };
}

function blocksOf({ message }: Entry): readonly ContentBlock[] {
  if (message === undefined) return [];
  return readBlocks(message.parts === undefined ? anthropicDialect : geminiDialect, message);
}
