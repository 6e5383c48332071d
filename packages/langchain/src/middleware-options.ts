import type { BaseLanguageModel } from '@langchain/core/language_models/base';
import type { BaseMessage } from '@langchain/core/messages';
import type { CompactionSettings } from '@x/compaction';
import { compactionConfigSchema } from '@x/compaction/internal';
import type { CompactionOutcome, Compactor } from '@x/core';
import { callable, having, parseWith, warn } from '@x/core/internal';
import * as z from 'zod';

/** A size, as LangChain writes it. `fraction` is a share of the model's context window. */
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

/** The part of a run's context that is this middleware's; what else an application keeps there, a `model` too, is not read. */
export const middlewareContextSchema = z.object({
  /**
   * Compacts when all sizes of one condition are reached; of several conditions, one suffices. Default: never before
   * the provider refuses a request; with a `compactor`, or a `trigger` in `compaction`, when the compactor's own says so.
   */
  trigger: z.union([sizeSchema, z.array(sizeSchema).readonly()]).optional(),
  /** What stays as it is, however much it is: exactly one size. Default: 20 messages. */
  keep: keepSchema.optional(),
  /** Counts for `trigger` and `keep`. Default: LangChain's `countTokensApproximately`. */
  tokenCounter: z.optional(callable<(messages: BaseMessage[]) => number | Promise<number>>()),
  /** Replaces the prompt; `{messages}` stands for the conversation. */
  summaryPrompt: z.string().optional(),
  /** A line in front of every summary. Default: LangChain's. */
  summaryPrefix: z.string().optional(),
  /** Tokens of the newest messages that the summarizer reads; only the record covers older ones. Default: it reads all. */
  trimTokensToSummarize: z.number().optional(),
});

const middlewareOptionsSchema = z
  .object({
    ...middlewareContextSchema.shape,
    /** Writes the summaries: a model, or its name for `initChatModel`. Left out: the record alone is the summary. */
    model: z
      .custom<string | BaseLanguageModel>(
        (value) =>
          typeof value === 'string' || typeof (value as BaseLanguageModel | null)?.invoke === 'function',
        'must be a LangChain model or the name of one',
      )
      .optional(),
    /** The window of the agent's model in tokens. Default: the profile of `model`, or the size known by its name. */
    contextWindow: z.int().positive().optional(),
    /** Every other key of `createCompactor`. Its `trigger` makes a reduction due where none is named beside it. */
    compaction: z.optional(
      compactionConfigSchema as unknown as z.ZodType<
        unknown,
        Omit<CompactionSettings, 'model' | 'contextWindow'>
      >,
    ),
    /** A compactor of your own, instead of `model`, `keep`, `summaryPrompt` and `compaction`. */
    compactor: z.optional(having<Compactor>('compact', 'a Compactor')),
    /** Receives every run. */
    onCompaction: z.optional(callable<(outcome: CompactionOutcome) => void>()),
  })
  .superRefine((options, context) => {
    if (options.compactor === undefined) return;
    for (const key of ['model', 'keep', 'summaryPrompt', 'compaction'] as const) {
      if (options[key] === undefined) continue;
      context.addIssue({ code: 'custom', path: [key], message: 'has no effect on a compactor of your own' });
    }
  });

/**
 * Checks options. As with LangChain an unknown one does not keep an agent from starting; it costs a warning.
 *
 * @throws {InvalidInputError} for invalid options.
 */
export function checkOptions(options: CompactionMiddlewareOptions): void {
  const subject = 'compactionMiddleware options';
  parseWith(middlewareOptionsSchema, options, subject);
  const unknown = Object.keys(options).filter((key) => !(key in middlewareOptionsSchema.shape));
  for (const key of unknown) warn(`${subject}: ${key}: not known, has no effect`);
}

export type MiddlewareSize = z.output<typeof sizeSchema>;
/** The settings of `summarizationMiddleware`; `invoke(…, { context })` may override each of them for one run. */
export type CompactionMiddlewareSettings = Readonly<z.input<typeof middlewareContextSchema>>;
/** The options of `summarizationMiddleware`, and those that this middleware adds. */
export type CompactionMiddlewareOptions = Readonly<z.input<typeof middlewareOptionsSchema>>;

function sizesIn(size: object): number {
  return Object.values(size).filter((value) => value !== undefined).length;
}
