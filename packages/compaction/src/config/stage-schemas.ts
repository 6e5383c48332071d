import * as z from 'zod';

/** A count or a size; 0 switches off what it triggers. */
export const countSchema = z.number().int().min(0);
/** A share of a whole, from 0 to 1. */
export const shareSchema = z
  .number()
  .min(0)
  .max(1, {
    error: ({ input }) => {
      const hint = typeof input === 'number' && input <= 100 ? `: write ${input / 100} for ${input} %` : '';
      return `is a share between 0 and 1${hint}`;
    },
  });

/** Cuts long string arguments of old tool calls. */
export const truncateArgsSchema = z
  .strictObject({
    /** When not 0: runs from this many messages on, also when no reduction is due. */
    triggerMessages: countSchema.default(0),
    /** When not 0: runs from this many tokens on, also when no reduction is due. */
    triggerTokens: countSchema.default(0),
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
    message: 'must be longer than truncationText; to keep arguments whole leave the stage out',
  });

/** Keeps the last of identical injected messages. */
export const trimSyntheticSchema = z.strictObject({
  /** When not 0: runs from this share of the window on, also when no reduction is due. */
  trimThreshold: shareSchema.default(0),
  /** When not 0: runs from this many tokens on, in place of the share. */
  trimMaxTokens: countSchema.default(0),
});

/** Shortens large arguments of old tool calls. */
export const previewArgsSchema = z.strictObject({
  /** `off`; after every tool round (`iteration`); or as a stage of a compaction. */
  mode: z.enum(['off', 'iteration', 'compaction']).default('compaction'),
  /** Arguments of one call above this many tokens are shortened. */
  argThreshold: countSchema.default(200),
  /** The newest share of the window that stays as it is. */
  protectPercent: shareSchema.default(0.3),
});

/** Replaces old tool outputs by a line that says what they were. */
export const maskOutputsSchema = z.strictObject({
  keepRecentToolOutputs: countSchema.default(5),
  format: z.enum(['one_line', 'head_tail']).default('one_line'),
  /** Tools whose outputs stay whole; a name may end in `*`. */
  excludeTools: z.array(z.string().min(1)).default([]),
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
export const redactSchema = z.union([
  z.boolean(),
  z.strictObject({
    /** Looked for before the built-in ones; a group named `secret` restricts what is replaced. */
    patterns: z.array(
      z.strictObject({ kind: z.string().regex(/^[\w-]+$/, 'is a word: letters, digits, - and _'), pattern }),
    ),
  }),
]);

/** The share of the trigger point that stays verbatim where nothing else is named. */
const KEEP_SHARE = 0.15;

/** What stays verbatim. Of several sizes the one that keeps least decides. */
export const keepSchema = z
  .strictObject({
    /** The newest messages, up to this share of the tokens at which a reduction is due. Default 0.15, unless a size is named. */
    share: shareSchema.optional(),
    /** The newest messages, up to this many tokens. */
    tokens: countSchema.optional(),
    /** The newest messages, up to this many. */
    messages: countSchema.optional(),
    /** The user's own words, up to this share of the window. */
    users: shareSchema.default(0.15),
  })
  .transform((keep) => {
    const named = keep.share ?? keep.tokens ?? keep.messages;
    return named === undefined ? { ...keep, share: KEEP_SHARE } : keep;
  });

export type Keep = z.output<typeof keepSchema>;

/** How much a reduction must save to count: both. */
export const savingSchema = z.strictObject({
  /** The share of the conversation. */
  share: shareSchema.default(0.05),
  /** Tokens. */
  tokens: countSchema.default(16),
});

export type Saving = z.output<typeof savingSchema>;

/** How summaries are written. */
export const summaryShape = {
  /**
   * Replaces the instructions to the model. May hold `{messages}`, `{previous_summary}`, `{instructions}` and
   * `{preserve}`; what it does not hold is appended.
   */
  prompt: z.string().trim().min(1).optional(),
  /** More to keep, in words. */
  instructions: z.string().optional(),
  /** Kinds of facts that must survive. */
  preserve: z.array(z.string().min(1)).default(['decisions', 'files_modified', 'errors', 'current_plan']),
  /** The longest narrative to ask for, in tokens; a quarter of the target at most. */
  maxTokens: z.number().int().min(1).default(4_000),
  /** The share of the tokens at which a reduction is due that the record may have; 0 writes none. Default 0.25, in small windows up to 0.4. */
  record: shareSchema.optional(),
  /** UTF-16 units of each tool result that the model sees. */
  toolResultLength: countSchema.default(2_000),
  /**
   * Lets an agent write a summary in the background from 70 % of the trigger point on, to be swapped in when it is due and
   * nothing before it changed. Without a model there is none.
   */
  background: z.boolean().default(true),
  /** What stands in when the model fails: the record alone, or nothing (the history stays). */
  fallback: z.enum(['record', 'none']).default('record'),
};

export const summarizeOptionsSchema = z.strictObject({
  ...summaryShape,
  /** Summarize in this many parts, each summary feeding the next. More when the model's window asks for it. */
  chunks: z.number().int().min(1).default(1),
  /** The lengths of tool results to fall back to when the model overflows. */
  truncationRetries: z.array(countSchema).default([500, 100, 0]),
  keep: keepSchema.prefault({}),
  saving: savingSchema.prefault({}),
  /** Replace secrets by `[redacted:kind]`: common ones (`true`), `patterns` besides, or none (`false`). */
  redact: redactSchema.default(true),
});

export type SummarizeOptions = z.output<typeof summarizeOptionsSchema>;
