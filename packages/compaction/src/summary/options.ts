import * as z from 'zod/mini';
import { countSchema, namesSchema, positiveSchema, shareSchema, wordsSchema } from '../config/values.js';
import { savingSchema } from '../stages/alter-messages.js';

/** Default share of the trigger point that stays verbatim. */
export const KEEP_SHARE = 0.15;

/**
 * What stays verbatim. Sizes are minimums: less stays only if the request would otherwise be too large. If you set several sizes, the one
 * that keeps most wins.
 */
export const keepSchema = z.strictObject({
  /** Newest messages to keep, as a share of the trigger point. Default 0.15, unless you set another size. */
  share: z.optional(shareSchema),
  /** Newest messages to keep, in tokens. */
  tokens: z.optional(countSchema),
  /** Number of newest messages to keep. */
  messages: z.optional(countSchema),
  /** Number of newest tool outputs to keep. Only the newest messages are searched for them, four messages for each output. */
  outputs: z.optional(countSchema),
  /** Messages that contain one of these texts stay word for word. */
  match: z.optional(namesSchema),
  /**
   * Share of the window for the user's earlier requests, which stay in front of a summary. If the trigger point is low, it is a share of 1.2
   * times the trigger point instead, and between 4 400 and 10 000 tokens a little more.
   */
  users: z._default(shareSchema, 0.15),
});

export type Keep = z.output<typeof keepSchema>;

/** How summaries are written. */
export const summaryShape = {
  /**
   * Replaces the instructions to the model. May contain `{messages}`, `{previous_summary}`, `{instructions}` and `{preserve}`; those that
   * it omits are appended.
   */
  prompt: z.optional(wordsSchema),
  /** Further instructions for the summary, such as facts to keep. */
  instructions: z.optional(z.string()),
  /** Kinds of facts that must survive. `redact` still removes secrets. */
  preserve: z._default(namesSchema, ['decisions', 'files_modified', 'errors', 'current_plan']),
  /** Maximum tokens of a narrative. It is also limited to about a quarter of the trigger point, in small windows to 0.4 of it. */
  maxTokens: z._default(positiveSchema, 4_000),
  /**
   * Share of the trigger point for the record; 0 for no record. Default: with a narrative, the rest of the target; otherwise 0.25, in
   * small windows up to 0.5.
   */
  record: z.optional(shareSchema),
  /** Maximum UTF-16 units of each tool result for the summarizer; 2 000 if the transcript would not fit one request. */
  toolResultLength: z._default(countSchema, 16_000),
  /** How many of the newest tokens the summarizer reads; the record covers the older ones. Default: all, in several requests if needed. */
  transcriptTokens: z.optional(positiveSchema),
  /**
   * In an agent, the narrative is started shortly before a compaction is due, at most once per compaction, and only if the process will
   * not end first.
   */
  background: z._default(z.boolean(), true),
  /**
   * Milliseconds that a compaction waits for the narrative; 0: it does not wait. After this time, the record is the summary, and the
   * narrative is added at a later step.
   */
  waitMs: z._default(countSchema, 10_000),
  /** Milliseconds for one answer of the summarizer; 0 for no limit. */
  timeoutMs: z._default(countSchema, 240_000),
  /** If the narrative fails: the `record` is the summary, or there is no summary and the history stays (`none`). */
  fallback: z._default(z.enum(['record', 'none']), 'record'),
};

export const summarizeOptionsSchema = z.strictObject({
  ...summaryShape,
  /** Summarizes in this many parts, or in more if the model's window is small. Each part's summary is input to the next. */
  chunks: z._default(positiveSchema, 1),
  /** Number of newest messages to keep beyond `keep` if the target has room. */
  warmMessages: z._default(countSchema, 0),
  /** Shorter lengths of tool results to try if the request to the model is too large. */
  truncationRetries: z._default(z.array(countSchema), [2_000, 500, 100, 0]),
  /** Uses `truncationRetries` also if the summary itself is too long. */
  retryTooLong: z._default(z.boolean(), false),
  keep: z.prefault(keepSchema, {}),
  saving: z.prefault(savingSchema, {}),
});

export type SummarizeOptions = z.output<typeof summarizeOptionsSchema>;
