import type { ContentBlock } from '@x/core';
import { plainJson, readPart, toolResultBlock } from '@x/core/messages';
import * as z from 'zod';
import { importerOf } from './importer.js';

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  synthetic: z.boolean().optional(),
  ignored: z.boolean().optional(),
  callID: z.string().optional(),
  tool: z.string().optional(),
  state: z
    .looseObject({
      input: z.unknown().optional(),
      output: z.string().optional(),
      error: z.string().optional(),
    })
    .optional(),
  mime: z.string().optional(),
  url: z.string().optional(),
});

const entrySchema = z.looseObject({
  info: z.looseObject({
    id: z.string(),
    role: z.enum(['user', 'assistant']),
    sessionID: z.string().optional(),
    modelID: z.string().optional(),
    /** `true` if the assistant message is the summary of a compaction. */
    summary: z.unknown().optional(),
    time: z.looseObject({ created: z.number() }).optional().catch(undefined),
    tokens: z
      .looseObject({
        input: z.number(),
        output: z.number(),
        cache: z.looseObject({ read: z.number(), write: z.number() }).default({ read: 0, write: 0 }),
      })
      .optional()
      .catch(undefined),
  }),
  parts: z.array(part),
});

/** A session of opencode, as `opencode export <session>` prints it. */
export const opencode = importerOf({
  format: 'opencode',
  describes: 'sessions of opencode (`opencode export`, JSON)',
  entry: entrySchema,
  choose(entries, builder, { info }) {
    const session = z.looseObject({
      id: z.string().optional(),
      /** Set after an undo. The undone messages stay in the file until the next message. */
      revert: z.looseObject({ messageID: z.string() }).optional(),
    });
    const { id, revert } = session.safeParse(info).data ?? {};
    builder.identify({ id });
    const place = revert && entries.findIndex((entry) => entry.info.id === revert.messageID);
    if (place === undefined || place < 0) return entries;
    for (const _ of entries.slice(place)) builder.unread('undone message');
    return entries.slice(0, place);
  },
  readEntry({ info, parts }, builder) {
    builder.identify({ id: info.sessionID });
    if (parts.some(({ type }) => type === 'compaction')) builder.compaction();
    if (info.role === 'assistant' && info.summary === true) return;
    const synthetic = new Set(parts.filter((each) => each.synthetic === true).map(({ text }) => text));
    builder.message(info.role, parts.flatMap(blocksOfPart), {
      at: info.time && new Date(info.time.created).toISOString(),
      answer: info.id,
      wasTyped: (text) => !synthetic.has(text),
    });
    if (info.role === 'user') return;
    builder.identify({ model: info.modelID });
    if (info.tokens === undefined) return;
    const { input, output, cache } = info.tokens;
    builder.usage(input, output, cache.read, cache.write);
  },
});

function blocksOfPart(each: z.output<typeof part>): readonly ContentBlock[] {
  const { type, callID: id, tool: name, state, mime, url } = each;
  if (type === 'tool' && id !== undefined && name !== undefined) {
    const use = { type: 'tool_use', id, name, input: plainJson(state?.input ?? {}) } as const;
    const answer = state?.error ?? state?.output;
    return answer === undefined ? [use] : [use, toolResultBlock(use, answer, state?.error !== undefined)];
  }
  if (each.ignored === true) return [];
  const known = type === 'file' ? { type, mediaType: mime, url } : each;
  return [readPart(known) ?? []].flat();
}
