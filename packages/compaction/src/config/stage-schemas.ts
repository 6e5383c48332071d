import { z } from 'zod';

/** A count or a size; 0 switches off what it triggers. */
export const countSchema = z.number().int().min(0);
/** A share of a whole. */
export const shareSchema = z
  .number()
  .min(0)
  .max(1, {
    error: ({ input }) =>
      `is a share between 0 and 1: write ${Number(input) <= 100 ? `${Number(input) / 100} for ${input}` : '0.85 for 85'} %`,
  });

/** Cuts long string arguments of old tool calls. */
export const truncateArgsSchema = z
  .strictObject({
    /** Runs from this many messages on; 0 switches this trigger off. */
    triggerMessages: countSchema.default(25),
    /** Runs from this many tokens on; 0 switches this trigger off. */
    triggerTokens: countSchema.default(40_000),
    /** The newest messages, whose arguments stay whole. */
    keepMessages: countSchema.default(20),
    /** When not 0: the newest tokens, in place of `keepMessages`. */
    keepTokens: countSchema.default(0),
    /** UTF-16 units that a string argument may have, marker included. */
    maxArgLength: countSchema.default(2_000),
    /** What stands where text was cut. */
    truncationText: z.string().min(1).default('... [truncated] ...'),
  })
  .refine(({ maxArgLength, truncationText }) => truncationText.length < maxArgLength, {
    path: ['maxArgLength'],
    message: 'must be longer than truncationText; to keep arguments whole set truncateArgs to false',
  });

/** Keeps the last of identical injected messages. */
export const trimSyntheticSchema = z.strictObject({
  /** Runs from this share of the window on; 0 switches it off. */
  trimThreshold: shareSchema.default(0.5),
  /** When not 0: runs from this many tokens on, in place of the share. */
  trimMaxTokens: countSchema.default(0),
});

/** Shortens large arguments of old tool calls. */
export const previewArgsSchema = z.strictObject({
  /** `off`; after every tool round (`iteration`); or as a stage of a compaction. */
  mode: z.enum(['off', 'iteration', 'compaction']).default('off'),
  /** Arguments of one call above this many tokens are shortened. */
  argThreshold: countSchema.default(200),
  /** The newest share of the window that stays as it is. */
  protectPercent: shareSchema.default(0.3),
});

/** Replaces old files by a text that says what they were. */
export const referenceMediaSchema = z.strictObject({
  /** The newest turns, each begun by a user's request, whose files stay. */
  keepUserTurns: countSchema.default(2),
});

/** Replaces tool outputs that a newer one makes redundant. */
export const maskSupersededSchema = z.strictObject({
  /** Tools whose outputs stay whole; a name may end in `*`. */
  excludeTools: z.array(z.string().min(1)).default([]),
});

/** Replaces old tool outputs by a line that says what they were. */
export const maskOutputsSchema = z.strictObject({
  keepRecentToolOutputs: countSchema.default(5),
  format: z.enum(['one_line', 'head_tail']).default('one_line'),
  /** Tools whose outputs stay whole; a name may end in `*`. */
  excludeTools: z.array(z.string().min(1)).default([]),
});

/** The newest messages verbatim, those before them with masked outputs, the rest as a summary. */
export const memoryTiersSchema = z.strictObject({
  hotMessages: countSchema.default(20),
  warmMessages: countSchema.default(100),
});

const pattern = z.union([
  z.instanceof(RegExp),
  z.string().transform((source, context) => {
    try {
      return new RegExp(source, 'g');
    } catch (error) {
      context.addIssue({ code: 'custom', message: `is no regular expression: ${(error as Error).message}` });
      return z.NEVER;
    }
  }),
]);

/** Takes secrets out of everything that a summary is made of. */
const redactSchema = z.union([
  z.boolean(),
  z.strictObject({
    /** Looked for before the built-in ones; a group named `secret` restricts what is replaced. */
    patterns: z.array(
      z.strictObject({ kind: z.string().regex(/^[\w-]+$/, 'is a word: letters, digits, - and _'), pattern }),
    ),
  }),
]);

/** How summaries are written. */
export const summaryOptionsSchema = z.strictObject({
  /**
   * Replaces the instructions to the summarizer. May hold `{messages}`, `{previous_summary}`, `{instructions}` and
   * `{preserve}`; what it does not hold is appended.
   */
  summaryPrompt: z.string().trim().min(1).optional(),
  /** Kinds of facts that must survive. */
  preserve: z.array(z.string().min(1)).default(['decisions', 'files_modified', 'errors', 'current_plan']),
  /** More to keep, in words. */
  instructions: z.string().optional(),
  /** Summarize in this many parts, each summary feeding the next. More when the summarizer's window asks for it. */
  chunks: z.number().int().min(1).default(1),
  /** UTF-16 units of each tool result that the summarizer sees. */
  toolResultMaxLength: countSchema.default(2_000),
  /** The lengths to fall back to when the summarizer overflows. */
  truncationRetries: z.array(countSchema).default([500, 100, 0]),
  /** The longest narrative to ask for, in tokens; a quarter of the budget at most. */
  maxSummaryTokens: z.number().int().min(1).default(4_000),
  /** The share of the limit that a record may have. */
  recordShare: shareSchema.default(0.28),
  /** The share of the window in which the user's own words stay. */
  userShare: shareSchema.default(0.15),
  /** What stands in when the summarizer fails: the ledger alone, or nothing (the history stays). */
  fallback: z.enum(['ledger', 'none']).default('ledger'),
  /** Replace secrets by `[redacted:kind]`: common ones (`true`), `patterns` besides, or none (`false`). */
  redact: redactSchema.default(true),
});

export type TrimSyntheticOptions = z.output<typeof trimSyntheticSchema>;
export type SummaryOptions = z.output<typeof summaryOptionsSchema>;

export const summarizeOptionsSchema = summaryOptionsSchema.extend({
  /** Messages that stay as they are. */
  keepMessages: countSchema.default(0),
  /** When not 0: tokens that stay as they are, in place of `keepMessages`. */
  keepTokens: countSchema.default(0),
  /** Where both are 0: the share of the limit that stays as it is. */
  keepShare: shareSchema.default(0.15),
  /** The conversation must fall by this share … */
  minSavingPercent: z.number().min(0).max(1).default(0.05),
  /** … and by this many tokens. */
  minSavingTokens: countSchema.default(16),
});

export type SummarizeOptions = z.output<typeof summarizeOptionsSchema>;
