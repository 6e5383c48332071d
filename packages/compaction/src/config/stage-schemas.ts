import * as z from 'zod/mini';

/** A count or a size; 0 switches off what it triggers. */
export const countSchema = z.int().check(z.minimum(0));
/** A share of a whole, from 0 to 1. */
export const shareSchema = z.number().check(
  z.minimum(0),
  z.maximum(1, {
    error: ({ input }) => {
      const hint = typeof input === 'number' && input <= 100 ? `: write ${input / 100} for ${input} %` : '';
      return `is a share between 0 and 1${hint}`;
    },
  }),
);

/** A text that says something. */
export const wordsSchema = z.string().check(z.trim(), z.minLength(1));
const textSchema = z.string().check(z.minLength(1));
const namesSchema = z.array(textSchema);
const positiveSchema = z.int().check(z.minimum(1));

/** Cuts long string arguments of old tool calls. */
export const truncateArgsSchema = z
  .strictObject({
    /** When not 0: runs from this many messages on, also when no reduction is due. */
    triggerMessages: z._default(countSchema, 0),
    /** When not 0: runs from this many tokens on, also when no reduction is due. */
    triggerTokens: z._default(countSchema, 0),
    /** The newest messages, whose arguments stay whole. */
    keepMessages: z._default(countSchema, 20),
    /** When not 0: the newest tokens, in place of `keepMessages`. */
    keepTokens: z._default(countSchema, 0),
    /** UTF-16 units that a string argument may have, marker included. */
    maxArgLength: z._default(countSchema, 2_000),
    /** What stands where text was cut. */
    truncationText: z._default(textSchema, '... [truncated] ...'),
  })
  .check(
    z.refine(({ maxArgLength, truncationText }) => truncationText.length < maxArgLength, {
      path: ['maxArgLength'],
      error: 'must be longer than truncationText; to keep arguments whole leave the stage out',
    }),
  );

/** Keeps the last of identical injected messages. */
export const trimSyntheticSchema = z.strictObject({
  /** When not 0: runs from this share of the window on, also when no reduction is due. */
  trimThreshold: z._default(shareSchema, 0),
  /** When not 0: runs from this many tokens on, in place of the share. */
  trimMaxTokens: z._default(countSchema, 0),
});

/** Shortens large arguments of old tool calls. */
export const previewArgsSchema = z.strictObject({
  /** `off`; after every tool round (`iteration`); or as a stage of a compaction. */
  mode: z._default(z.enum(['off', 'iteration', 'compaction']), 'compaction'),
  /** Arguments of one call above this many tokens are shortened. */
  argThreshold: z._default(countSchema, 200),
  /** The newest share of the window that stays as it is. */
  protectPercent: z._default(shareSchema, 0.3),
});

/** Replaces old tool outputs by a line that says what they were. */
export const maskOutputsSchema = z.strictObject({
  keepRecentToolOutputs: z._default(countSchema, 5),
  format: z._default(z.enum(['one_line', 'head_tail']), 'one_line'),
  /** Tools whose outputs stay whole; a name may end in `*`. */
  excludeTools: z._default(namesSchema, []),
});

const pattern = z.union([
  z.instanceof(RegExp),
  z.pipe(
    z.string(),
    z.transform((source, { issues }) => {
      try {
        return new RegExp(source, 'g');
      } catch (error) {
        const message = `is no regular expression: ${(error as Error).message}`;
        issues.push({ code: 'custom', message, input: source });
        return z.NEVER;
      }
    }),
  ),
]);

/** Takes secrets out of everything that a summary is made of. */
export const redactSchema = z.union([
  z.boolean(),
  z.strictObject({
    /** Looked for before the built-in ones; a group named `secret` restricts what is replaced. */
    patterns: z.array(
      z.strictObject({
        kind: z.string().check(z.regex(/^[\w-]+$/, 'is a word: letters, digits, - and _')),
        pattern,
      }),
    ),
  }),
]);

/** The share of the trigger point that stays verbatim where nothing else is named. */
const KEEP_SHARE = 0.15;

/** What stays verbatim. Of several sizes the one that keeps least decides. */
export const keepSchema = z.pipe(
  z.strictObject({
    /** The newest messages, up to this share of the tokens at which a reduction is due. Default 0.15, unless a size is named. */
    share: z.optional(shareSchema),
    /** The newest messages, up to this many tokens. */
    tokens: z.optional(countSchema),
    /** The newest messages, up to this many. */
    messages: z.optional(countSchema),
    /** The user's own words, up to this share of the window. */
    users: z._default(shareSchema, 0.15),
  }),
  z.transform((keep) => {
    const named = keep.share ?? keep.tokens ?? keep.messages;
    return named === undefined ? { ...keep, share: KEEP_SHARE } : keep;
  }),
);

export type Keep = z.output<typeof keepSchema>;

/** How much a reduction must save to count: both; `false`: fewer messages are enough, also where a summary of them is longer. */
export const savingSchema = z.union([
  z.literal(false),
  z.strictObject({
    /** The share of the conversation. */
    share: z._default(shareSchema, 0.05),
    /** Tokens. */
    tokens: z._default(countSchema, 16),
  }),
]);

export type Saving = z.output<typeof savingSchema>;

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
  /** Tokens of the newest messages that the model reads; the record alone tells of older ones. Default: it reads all, in as many parts as its window asks for. */
  transcriptTokens: z.optional(positiveSchema),
  /**
   * Lets an agent write a summary in the background from 70 % of the trigger point on, to be swapped in when it is due and
   * nothing before it changed. Without a model there is none.
   */
  background: z._default(z.boolean(), true),
  /** Milliseconds that one answer of the model may take; 0: as long as it takes. */
  timeoutMs: z._default(countSchema, 240_000),
  /** What stands in when the model fails: the record alone, or nothing (the history stays). */
  fallback: z._default(z.enum(['record', 'none']), 'record'),
};

export const summarizeOptionsSchema = z.strictObject({
  ...summaryShape,
  /** Summarize in this many parts, each summary feeding the next. More when the model's window asks for it. */
  chunks: z._default(positiveSchema, 1),
  /** The lengths of tool results to fall back to when the model overflows. */
  truncationRetries: z._default(z.array(countSchema), [2_000, 500, 100, 0]),
  /** Falls back to them also when the summary itself is too long. */
  retryTooLong: z._default(z.boolean(), false),
  keep: z.prefault(keepSchema, {}),
  saving: z.prefault(savingSchema, {}),
  /** Replace secrets by `[redacted:kind]`: common ones (`true`), `patterns` besides, or none (`false`). */
  redact: z._default(redactSchema, true),
});

export type SummarizeOptions = z.output<typeof summarizeOptionsSchema>;
