import { toolResultBlock } from '@x/core/messages';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { followLastBranch } from './follow-branch.js';
import { importerOf } from './importer.js';
import { readOutputs, readParts } from './parts.js';

const content = z.union([z.string(), z.array(z.unknown())]);

const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('user'), content }),
  z.looseObject({
    role: z.literal('assistant'),
    content,
    model: z.string().optional(),
    usage: z
      .looseObject({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() })
      .optional()
      .catch(undefined),
  }),
  z.looseObject({
    role: z.literal('toolResult'),
    toolCallId: z.string(),
    content,
    isError: z.boolean().optional(),
  }),
  z.looseObject({
    role: z.literal('bashExecution'),
    command: z.string(),
    output: z.string(),
    excludeFromContext: z.boolean().optional(),
  }),
  z.looseObject({ role: z.enum(['custom', 'hookMessage']), content }),
]);

const entrySchema = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  parentId: z.string().nullish(),
  timestamp: z.string().optional(),
  message: z.unknown().optional(),
  summary: z.string().optional(),
  tokensBefore: z.number().optional(),
  content: content.optional(),
});

type Entry = z.output<typeof entrySchema>;

/**
 * Session files of the pi coding agent, `~/.pi/agent/sessions/…/<time>_<id>.jsonl`: a tree of entries. Only the branch that ends in the
 * last entry is read. Files of version 1 have no tree and are read line by line.
 */
export const pi = importerOf({
  format: 'pi',
  describes: 'session files of the pi coding agent (JSONL)',
  entry: entrySchema,
  recognizes: (value) => {
    const entry = entrySchema.safeParse(value).data;
    return entry?.type === 'message' && message.safeParse(entry.message).success;
  },
  tree: {
    parent: 'parentId',
    rowOf(value) {
      const entry = entrySchema.safeParse(value).data;
      return entry && entry.type !== 'session' ? rowOf(entry) : undefined;
    },
  },
  choose(entries, builder) {
    const isTree = entries.some(({ type, id }) => type !== 'session' && id !== undefined);
    if (!isTree) return entries;
    const rows = entries.filter(({ type }) => type !== 'session');
    const { followed, others } = followLastBranch(rows, rowOf, builder);
    for (const _ of others) builder.unread('message of an abandoned branch');
    return [...entries.filter(({ type }) => type === 'session'), ...followed];
  },
  readEntry,
});

/** For messages that have the user's role, but were written by a program. */
const BY_PROGRAM = { wasTyped: () => false };
const MESSAGE_TYPES = ['message', 'branch_summary', 'custom_message'];

function rowOf({ id, parentId, type, message }: Entry) {
  return { id, parent: parentId, message, isMessage: MESSAGE_TYPES.includes(type) };
}

function readEntry(entry: Entry, builder: ConversationBuilder): void {
  const at = entry.timestamp;
  if (entry.type === 'session') {
    builder.identify({ id: entry.id });
  } else if (entry.type === 'compaction') {
    builder.compaction({ summary: entry.summary, tokensBefore: entry.tokensBefore });
  } else if (entry.type === 'branch_summary' || entry.type === 'custom_message') {
    builder.message('user', readParts(entry.summary ?? entry.content), { at, ...BY_PROGRAM });
  } else if (entry.type === 'message') {
    readMessage(entry.message, entry, builder);
  }
}

function readMessage(value: unknown, { timestamp: at, id }: Entry, builder: ConversationBuilder): void {
  const parsed = message.safeParse(value).data;
  if (parsed === undefined) {
    builder.unread('message of an unknown shape');
    return;
  }
  switch (parsed.role) {
    case 'assistant': {
      builder.identify({ model: parsed.model });
      builder.message(parsed.role, readParts(parsed.content), { at, answer: id });
      if (parsed.usage === undefined) return;
      const { input, output, cacheRead, cacheWrite } = parsed.usage;
      builder.usage(input, output, cacheRead, cacheWrite);
      return;
    }
    case 'toolResult': {
      const call = { id: parsed.toolCallId, name: '' };
      builder.message('tool', [toolResultBlock(call, readOutputs(parsed.content), parsed.isError)], { at });
      return;
    }
    case 'bashExecution':
      if (parsed.excludeFromContext !== true)
        builder.message('user', readParts(`$ ${parsed.command}\n${parsed.output}`), { at, ...BY_PROGRAM });
      return;
    default:
      builder.message('user', readParts(parsed.content), { at, wasTyped: () => parsed.role === 'user' });
  }
}
