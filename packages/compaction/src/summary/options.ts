import * as z from 'zod/mini';
import { countSchema, namesSchema, positiveSchema, shareSchema, wordsSchema } from '../config/values.js';
import { redactSchema } from '../conversation/redaction.js';
import { savingSchema } from '../stages/alter-messages.js';

/** The share of the trigger point that stays verbatim where nothing else is named. */
export const KEEP_SHARE = 0.15;

/**
 * What stays verbatim. What you name is a floor up to what may be sent: only a request that would exceed that takes from it. If you set
 * several sizes, the one that keeps most wins.
 */
export const keepSchema = z.strictObject({
  /** The newest messages, up to this share of the tokens at which a reduction is due. Default 0.15, unless a size is named. */
  share: z.optional(shareSchema),
  /** The newest messages, up to this many tokens. */
  tokens: z.optional(countSchema),
  /** The newest messages, this many. */
  messages: z.optional(countSchema),
  /** The newest messages from this many tool outputs on. */
  outputs: z.optional(countSchema),
  /** Messages that hold one of these texts stay word for word, wherever they are. */
  match: z.optional(namesSchema),
  /** The user's own words, up to this share of the window. */
  users: z._default(shareSchema, 0.15),
});

export type Keep = z.output<typeof keepSchema>;

/** How summaries are written. */
export const summaryShape = {
  /**
   * Replaces the instructions to the model. May hold `{messages}`, `{previous_summary}`, `{instructions}` and
   * `{preserve}`; what it does not hold is appended.
   */
  prompt: z.optional(wordsSchema),
  /** More to keep, in words. */
  instructions: z.optional(z.string()),
  /** Kinds of facts that must survive; secrets do not where `redact` takes them out. */
  preserve: z._default(namesSchema, ['decisions', 'files_modified', 'errors', 'current_plan']),
  /** The longest narrative to ask for, in tokens; about a quarter of the trigger point at most, in small windows up to 0.4. */
  maxTokens: z._default(positiveSchema, 4_000),
  /** The share of the tokens at which a reduction is due that the record may have; 0 writes none. Default 0.25, in small windows up to 0.5, and beside a narrative what is left of the target. */
  record: z.optional(shareSchema),
  /** UTF-16 units of each tool result that the model sees at most; 2 000 where the transcript would not fit one request. */
  toolResultLength: z._default(countSchema, 8_000),
  /** Tokens of the newest messages that the model reads; only the record covers older ones. Default: it reads all, in as many parts as its window asks for. */
  transcriptTokens: z.optional(positiveSchema),
  /**
   * Lets an agent have the narrative written shortly before a compaction is due, as late as the growth of the conversation
   * allows. Nothing is begun where the process would not be there to use it.
   */
  background: z._default(z.boolean(), true),
  /**
   * Milliseconds for which a compaction waits for models, all in all; 0: not at all. Then the record is the summary, and the
   * narrative follows when it is written.
   */
  waitMs: z._default(countSchema, 10_000),
  /** Milliseconds that one answer of the model may take; 0: as long as it takes. */
  timeoutMs: z._default(countSchema, 240_000),
  /** What stands in when the model fails: the record alone, or nothing (the history stays). */
  fallback: z._default(z.enum(['record', 'none']), 'record'),
};

export const summarizeOptionsSchema = z.strictObject({
  ...summaryShape,
  /** Summarize in this many parts, each summary feeding the next. More when the model's window asks for it. */
  chunks: z._default(positiveSchema, 1),
  /** More of the newest messages that stay where the target has room, beyond what `keep` names. */
  warmMessages: z._default(countSchema, 0),
  /** The lengths of tool results to fall back to when the model overflows. */
  truncationRetries: z._default(z.array(countSchema), [2_000, 500, 100, 0]),
  /** Falls back to them also when the summary itself is too long. */
  retryTooLong: z._default(z.boolean(), false),
  keep: z.prefault(keepSchema, {}),
  saving: z.prefault(savingSchema, {}),
  /** Replace secrets by `[redacted:kind]`: common ones (`true`), your own as well (`patterns`), or none (`false`). */
  redact: z._default(redactSchema, true),
});

export type SummarizeOptions = z.output<typeof summarizeOptionsSchema>;
