import type { BaseLanguageModel } from '@langchain/core/language_models/base';
import type { BaseMessage } from '@langchain/core/messages';
import type { CompactionSettings } from '@x/compaction';
import { compactionConfigSchema } from '@x/compaction/internal';
import type { CompactionOutcome, Compactor, Usage } from '@x/core';
import { callable, having, parseWith, warn } from '@x/core/internal';
import * as z from 'zod';

/** A size in LangChain's format. `fraction` is a share of the model's context window. */
const sizeSchema = z
  .object({
    messages: z.int().positive().optional(),
    tokens: z.number().positive().optional(),
    fraction: z.number().gt(0).max(1).optional(),
  })
  .refine((size) => sizesIn(size) > 0, 'needs messages, tokens or fraction')
  .readonly();
const keepSchema = z
  .object({
    messages: z.int().min(0).optional(),
    tokens: z.number().min(0).optional(),
    fraction: z.number().min(0).max(1).optional(),
  })
  .refine((size) => sizesIn(size) === 1, 'needs exactly one of messages, tokens and fraction')
  .readonly();

/** The keys of a run's context that this middleware reads. It ignores all other keys, including `model`. */
export const middlewareContextSchema = z.object({
  /**
   * Compacts if all sizes of one condition are reached; if you set several conditions, one is enough. Default: only after the provider
   * has rejected a request as too large. With `compactor`, or with a `trigger` in `compaction`, the default is the compactor's trigger.
   */
  trigger: z.union([sizeSchema, z.array(sizeSchema).readonly()]).optional(),
  /** The newest messages that stay unchanged, as exactly one size. Default: 20 messages. */
  keep: keepSchema.optional(),
  /** Counts for `trigger` and `keep`. Default: LangChain's `countTokensApproximately`. */
  tokenCounter: z.optional(callable<(messages: BaseMessage[]) => number | Promise<number>>()),
  /** Replaces the prompt; `{messages}` inserts the conversation. */
  summaryPrompt: z.string().optional(),
  /** A line in front of every summary. Default: LangChain's. */
  summaryPrefix: z.string().optional(),
  /** How many of the newest tokens the summarizer reads. Only the record covers older messages. Default: all. */
  trimTokensToSummarize: z.number().optional(),
});

const middlewareOptionsSchema = z
  .object({
    ...middlewareContextSchema.shape,
    /** The model that writes the summaries, or its name for `initChatModel`. Without it, the summary is the record alone. */
    model: z
      .custom<string | BaseLanguageModel>(
        (value) =>
          typeof value === 'string' || typeof (value as BaseLanguageModel | null)?.invoke === 'function',
        'must be a LangChain model or the name of one',
      )
      .optional(),
    /** The window of the agent's model, in tokens. Default: from the profile of `model`, or by its name. */
    contextWindow: z.int().positive().optional(),
    /** All other keys of `createCompactor`. Its `trigger` applies only if the middleware's own `trigger` is not set. */
    compaction: z.optional(
      compactionConfigSchema as unknown as z.ZodType<
        unknown,
        Omit<CompactionSettings, 'model' | 'contextWindow'>
      >,
    ),
    /** Your own compactor, instead of `model`, `keep`, `summaryPrompt` and `compaction`. */
    compactor: z.optional(having<Compactor>('compact', 'a Compactor')),
    /** Receives the outcome of every compaction that was not skipped. */
    onCompaction: z.optional(callable<(outcome: CompactionOutcome) => void>()),
    /** Receives the usage of each model call of the compactor when the call ends, also of calls that end after the compaction. */
    onUsage: z.optional(callable<(usage: Usage) => void>()),
  })
  .superRefine((options, context) => {
    if (options.compactor === undefined) return;
    for (const key of ['model', 'keep', 'summaryPrompt', 'compaction'] as const) {
      if (options[key] === undefined) continue;
      context.addIssue({ code: 'custom', path: [key], message: 'has no effect together with compactor' });
    }
  });

/**
 * Checks options. An unknown option only causes a warning, because LangChain ignores unknown options too.
 *
 * @throws {InvalidInputError} for invalid options.
 */
export function checkOptions(options: CompactionMiddlewareOptions): void {
  const subject = 'compactionMiddleware options';
  parseWith(middlewareOptionsSchema, options, subject);
  const unknown = Object.keys(options).filter((key) => !(key in middlewareOptionsSchema.shape));
  for (const key of unknown) warn(`${subject}: ${key}: unknown option, ignored`);
}

export type MiddlewareSize = z.output<typeof sizeSchema>;
/** The settings of `summarizationMiddleware`; `invoke(…, { context })` may override each of them for one run. */
export type CompactionMiddlewareSettings = Readonly<z.input<typeof middlewareContextSchema>>;
/** The options of `summarizationMiddleware`, and those that this middleware adds. */
export type CompactionMiddlewareOptions = Readonly<z.input<typeof middlewareOptionsSchema>>;

function sizesIn(size: object): number {
  return Object.values(size).filter((value) => value !== undefined).length;
}
