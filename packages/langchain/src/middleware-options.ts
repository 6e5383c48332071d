import type { BaseLanguageModel } from '@langchain/core/language_models/base';
import type { BaseMessage } from '@langchain/core/messages';
import type { CompactionSettings } from '@x/compaction';
import type { CompactionOutcome, Compactor } from '@x/core';
import * as z from 'zod';

/** A size, as LangChain writes it. `fraction` is a share of the model's context window. */
export interface MiddlewareSize {
  readonly messages?: number | undefined;
  readonly tokens?: number | undefined;
  readonly fraction?: number | undefined;
}

/** The settings of `summarizationMiddleware`; `invoke(…, { context })` may override each of them for one run. */
export interface CompactionMiddlewareSettings {
  /** Writes the summaries: a model, or its name for `initChatModel`. Left out: the record alone is the summary. */
  readonly model?: string | BaseLanguageModel | undefined;
  /**
   * Compacts when all sizes of one condition are reached; of several conditions, one suffices. Default: never before
   * the provider refuses a request; with `compat: false` when the compactor's own triggers say so.
   */
  readonly trigger?: MiddlewareSize | readonly MiddlewareSize[] | undefined;
  /** What stays as it is: exactly one size. Default: 20 messages. */
  readonly keep?: MiddlewareSize | undefined;
  /** Counts for the trigger. Default: the estimate of `@x/core`. */
  readonly tokenCounter?: ((messages: BaseMessage[]) => number | Promise<number>) | undefined;
  /** Replaces the prompt; `{messages}` stands for the conversation. */
  readonly summaryPrompt?: string | undefined;
  /** A line in front of every summary. Default: LangChain's; with `compat: false` none. */
  readonly summaryPrefix?: string | undefined;
  /** Tokens that the summarizer reads at once; a longer conversation is summarized in parts, not cut off. */
  readonly trimTokensToSummarize?: number | undefined;
}

/** The options of `summarizationMiddleware`, and those that this middleware adds. */
export interface CompactionMiddlewareOptions extends CompactionMiddlewareSettings {
  /** LangChain's earlier name of `trigger: { tokens }`. */
  readonly maxTokensBeforeSummary?: number | undefined;
  /** LangChain's earlier name of `keep: { messages }`. */
  readonly messagesToKeep?: number | undefined;
  /** Behaves as `summarizationMiddleware` wherever the two differ on purpose. Default true. */
  readonly compat?: boolean | undefined;
  /** The window of the agent's model in tokens. Default: the profile of `model`, or the size known by its name. */
  readonly contextWindow?: number | undefined;
  /** Every other key of `createCompactor`. */
  readonly compaction?: Omit<CompactionSettings, 'model' | 'contextWindow'> | undefined;
  /** A compactor of your own, in place of `model`, `keep`, `summaryPrompt` and `compaction`. */
  readonly compactor?: Compactor | undefined;
  /** Told of every run. */
  readonly onCompaction?: ((outcome: CompactionOutcome) => void) | undefined;
}

const sizeSchema = z
  .strictObject({
    messages: z.int().positive().optional(),
    tokens: z.number().positive().optional(),
    fraction: z.number().gt(0).max(1).optional(),
  })
  .refine((size) => sizesIn(size) > 0, 'needs messages, tokens or fraction');
const keepSchema = z
  .strictObject({
    messages: z.int().min(0).optional(),
    tokens: z.number().min(0).optional(),
    fraction: z.number().min(0).max(1).optional(),
  })
  .refine((size) => sizesIn(size) === 1, 'needs exactly one of messages, tokens and fraction');
const functionSchema = z.custom<never>((value) => typeof value === 'function', 'must be a function');

const settingsShape = {
  model: z
    .custom<string | BaseLanguageModel>(
      (value) =>
        typeof value === 'string' || typeof (value as BaseLanguageModel | null)?.invoke === 'function',
      'must be a LangChain model or the name of one',
    )
    .optional(),
  trigger: z.union([sizeSchema, z.array(sizeSchema)]).optional(),
  keep: keepSchema.optional(),
  tokenCounter: functionSchema.optional(),
  summaryPrompt: z.string().optional(),
  summaryPrefix: z.string().optional(),
  trimTokensToSummarize: z.number().optional(),
};

/** The part of a run's context that is this middleware's; what else an application keeps there is not read. */
export const middlewareContextSchema = z.object(settingsShape);

export const middlewareOptionsSchema = z
  .strictObject({
    ...settingsShape,
    maxTokensBeforeSummary: z.number().optional(),
    messagesToKeep: z.number().optional(),
    compat: z.boolean().optional(),
    contextWindow: z.int().positive().optional(),
    compaction: z.record(z.string(), z.unknown()).optional(),
    compactor: z
      .custom<Compactor>(
        (value) => typeof (value as Compactor | null)?.compact === 'function',
        'must be a Compactor',
      )
      .optional(),
    onCompaction: functionSchema.optional(),
  })
  .superRefine((options, context) => {
    if (options.compactor === undefined) return;
    for (const key of ['model', 'keep', 'messagesToKeep', 'summaryPrompt', 'compaction'] as const) {
      if (options[key] === undefined) continue;
      context.addIssue({ code: 'custom', path: [key], message: 'has no effect on a compactor of your own' });
    }
  });

function sizesIn(size: MiddlewareSize): number {
  return Object.values(size).filter((value) => value !== undefined).length;
}
