import type { ContentBlock } from '@x/core';
import { anthropicDialect, readBlocks } from '@x/core/messages';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { importerOf } from './importer.js';

const usageSchema = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
});

const entrySchema = z.looseObject({
  type: z.string(),
  subtype: z.string().optional(),
  uuid: z.string().optional(),
  parentUuid: z.string().nullish(),
  logicalParentUuid: z.string().nullish(),
  sessionId: z.string().optional(),
  timestamp: z.string().optional(),
  isSidechain: z.boolean().optional(),
  isCompactSummary: z.boolean().optional(),
  isApiErrorMessage: z.boolean().optional(),
  compactMetadata: z.looseObject({ preTokens: z.number().optional() }).optional(),
  message: z
    .looseObject({
      id: z.string().optional(),
      model: z.string().optional(),
      content: z.unknown().optional(),
      usage: usageSchema.optional().catch(undefined),
    })
    .optional(),
});

type Entry = z.output<typeof entrySchema>;

/**
 * Session logs of Claude Code, `~/.claude/projects/<project>/<session>.jsonl`: one entry a line, linked by `parentUuid`.
 * The branch that was followed last counts; what subagents said among themselves (`isSidechain`) does not.
 */
export const claudeCode = importerOf({
  format: 'claude-code',
  describes: 'Claude Code session logs (JSONL)',
  entry: entrySchema,
  recognizes(value) {
    const entry = entrySchema.safeParse(value).data;
    return entry?.uuid !== undefined && entry.message !== undefined && isSpoken(entry);
  },
  choose: (entries) => followedLast(entries.filter(({ isSidechain }) => isSidechain !== true)),
  readEntry,
});

function isSpoken({ type }: Entry): boolean {
  return type === 'user' || type === 'assistant';
}

function readEntry(entry: Entry, builder: ConversationBuilder): void {
  const { type, message, timestamp: at } = entry;
  builder.identify({ id: entry.sessionId });
  if (entry.subtype === 'compact_boundary') {
    const tokensBefore = entry.compactMetadata?.preTokens;
    builder.compaction(tokensBefore === undefined ? {} : { tokensBefore });
    return;
  }
  if (message === undefined || entry.isCompactSummary === true || entry.isApiErrorMessage === true) return;
  if (!isSpoken(entry)) return;
  builder.message(type, readBlocks(anthropicDialect, message), { at, answer: message.id });
  if (type === 'user') return;
  builder.identify({ model: message.model });
  if (message.usage === undefined) return;
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = message.usage;
  builder.usage({
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    cachedInputTokens: cache_read_input_tokens ?? 0,
    cacheWriteTokens: cache_creation_input_tokens ?? 0,
  });
}

/**
 * The branch that ends in the last entry, in the order of the file. Answers and results of parallel calls are logged as
 * a chain with side arms: fragments of an answer on the branch, and results of its calls, belong to it too.
 */
function followedLast(entries: readonly Entry[]): readonly Entry[] {
  const byId = new Map(entries.map((entry, index) => [entry.uuid, { entry, index }]));
  const branch = new Set<Entry>();
  for (let entry = entries.findLast(isSpoken); entry !== undefined && !branch.has(entry); ) {
    branch.add(entry);
    entry = parentOf(entry, entries, byId);
  }
  const answers = new Set<string>();
  const calls = new Set<string>();
  for (const { type, message } of branch) if (type === 'assistant' && message?.id) answers.add(message.id);
  const ofAnswer = ({ type, message }: Entry) =>
    type === 'assistant' && message?.id !== undefined && answers.has(message.id);
  for (const entry of entries) {
    if (!branch.has(entry) && !ofAnswer(entry)) continue;
    for (const block of blocksOf(entry)) if (block.type === 'tool_use') calls.add(block.id);
  }
  const answersCall = (entry: Entry) =>
    entry.type === 'user' &&
    blocksOf(entry).some((block) => block.type === 'tool_result' && calls.has(block.toolUseId));
  return entries.filter((entry) => branch.has(entry) || ofAnswer(entry) || answersCall(entry));
}

function blocksOf({ message }: Entry): readonly ContentBlock[] {
  return message === undefined ? [] : readBlocks(anthropicDialect, message);
}

function parentOf(
  entry: Entry,
  entries: readonly Entry[],
  byId: ReadonlyMap<string | undefined, { readonly entry: Entry; readonly index: number }>,
): Entry | undefined {
  const parent = entry.parentUuid ?? entry.logicalParentUuid;
  if (parent) return byId.get(parent)?.entry;
  // After a compaction the chain begins anew; what was before it stands before it in the file.
  const isContinuation = entry.subtype === 'compact_boundary' || entry.isCompactSummary === true;
  return isContinuation ? entries[(byId.get(entry.uuid)?.index ?? 0) - 1] : undefined;
}
