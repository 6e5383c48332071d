import type { Model, TokenCounter } from '@x/core';
import { z } from 'zod';
import type { Reducer } from '../reducer.js';
import {
  countSchema,
  maskOutputsSchema,
  maskSupersededSchema,
  memoryTiersSchema,
  previewArgsSchema,
  referenceMediaSchema,
  shareSchema,
  summaryOptionsSchema,
  type TrimSyntheticOptions,
  trimSyntheticSchema,
  truncateArgsSchema,
} from './stage-schemas.js';

const model = z.custom<Model>(
  (value) => typeof (value as Model | null)?.generate === 'function',
  'must be a Model',
);
const counter = z.custom<TokenCounter>(
  (value) => typeof (value as TokenCounter | null)?.count === 'function',
  'must be a TokenCounter',
);
const reducer = z.custom<Reducer>(
  (value) => typeof (value as Reducer | null)?.reduce === 'function',
  'must be a Reducer',
);

/** A stage's options, or `false` to leave the stage out. */
const stage = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal(false), schema]).prefault({} as never);

/** The same, left out unless its options are given. */
const offStage = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal(false), schema]).default(false as never);

/** Every key of a compaction, before keys that depend on each other are resolved. */
export const compactionShape = {
  ...summaryOptionsSchema.shape,
  /** Due at this many messages; 0 switches it off. Default 50; 0 with `memoryTiers`. */
  triggerMessages: countSchema.optional(),
  /** Due at this many tokens; 0 switches it off. */
  triggerTokens: countSchema.default(0),
  /** Due at this share of the context window; 0 switches it off. */
  budgetPercent: shareSchema.default(0.85),
  /** When not 0: due at this many tokens, in place of the share. */
  maxTokens: countSchema.default(0),
  /** The share of a trigger that a reduction leaves free, so that the next one is not due at once. */
  headroom: z.number().min(0).max(0.9).default(0.1),
  /** The same for a summary: more, because it rewrites the request from its beginning and should be rare. */
  summaryHeadroom: z.number().min(0).max(0.9).default(0.5),
  /** Messages that a summary leaves as they are. Default 20, half the message trigger at most. */
  keepMessages: countSchema.optional(),
  /** When not 0: tokens that a summary leaves as they are, in place of `keepMessages`. */
  keepTokens: countSchema.default(0),
  memoryTiers: memoryTiersSchema.optional(),
  strategy: z
    .union([z.enum(['auto', 'native', 'observation_masking', 'summarization']), z.array(reducer).min(1)])
    .default('auto'),
  truncateArgs: offStage(truncateArgsSchema),
  trimSynthetic: offStage(trimSyntheticSchema),
  previewArgs: previewArgsSchema.prefault({}),
  referenceMedia: stage(referenceMediaSchema),
  maskSuperseded: offStage(maskSupersededSchema),
  maskOutputs: offStage(maskOutputsSchema),
  /** A reduction counts when the conversation falls by this share … */
  minSavingPercent: shareSchema.default(0.05),
  /** … and by this many tokens. */
  minSavingTokens: countSchema.default(16),
  /** The summarizer; `null` for none. Left out: see where the configuration is used. */
  model: model.nullable().optional(),
  /** `none`: no model is called, the ledger is the summary. */
  summarizer: z.enum(['auto', 'none']).default('auto'),
  /** The window of the model that reads the conversation, in tokens. */
  contextWindow: z.number().int().min(1).optional(),
  counter: counter.optional(),
};

const base = z.strictObject(compactionShape);

/** Fills in defaults that depend on other keys. */
export function resolveDefaults<Config extends z.output<typeof base>>(config: Config) {
  const triggerMessages = config.triggerMessages ?? 0;
  const keepMessages =
    config.keepMessages ?? (triggerMessages > 0 ? Math.min(20, Math.floor(triggerMessages / 2)) : 0);
  return { ...config, triggerMessages, keepMessages };
}

/**
 * How a conversation is kept inside its budget. Unknown keys and combinations that cannot work are refused with the
 * reason; 0 means 0 and switches a trigger off.
 */
export const compactionConfigSchema = base.transform(resolveDefaults).superRefine(refuseContradictions);

/** What a user writes. */
export type CompactionConfig = z.input<typeof compactionConfigSchema>;
/** The configuration with every default filled in. */
export type ResolvedCompactionConfig = z.output<typeof compactionConfigSchema>;

interface Checked {
  readonly triggerMessages: number;
  readonly triggerTokens: number;
  readonly budgetPercent: number;
  readonly maxTokens: number;
  readonly keepMessages: number;
  readonly keepTokens: number;
  readonly contextWindow?: number | undefined;
  readonly memoryTiers?: { readonly hotMessages: number; readonly warmMessages: number } | undefined;
  readonly trimSynthetic: false | TrimSyntheticOptions;
  readonly summarizer: 'auto' | 'none';
  readonly model?: unknown;
}

/** Refuses what would be due again at once, could never run, or says two things. */
export function refuseContradictions(config: Checked, context: z.RefinementCtx): void {
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const { triggerMessages, triggerTokens, keepMessages, keepTokens, maxTokens, memoryTiers } = config;

  if (triggerMessages > 0 && keepTokens === 0 && !memoryTiers && keepMessages >= triggerMessages) {
    refuse(
      ['keepMessages'],
      `${keepMessages} must be below triggerMessages ${triggerMessages}, or a reduction is due again at once`,
    );
  }
  if (memoryTiers && keepTokens > 0) {
    refuse(['keepTokens'], 'and memoryTiers both say what stays; leave one of them out');
  }
  if (memoryTiers && triggerMessages > 0) {
    const kept = memoryTiers.hotMessages + memoryTiers.warmMessages;
    if (kept >= triggerMessages) {
      refuse(
        ['memoryTiers'],
        `keeps ${kept} messages, which must be below triggerMessages ${triggerMessages} (0 switches that trigger off)`,
      );
    }
  }
  for (const [name, trigger] of Object.entries({ triggerTokens, maxTokens })) {
    if (trigger > 0 && keepTokens >= trigger) {
      refuse(['keepTokens'], `${keepTokens} must be below ${name} ${trigger}`);
    }
  }
  if (config.contextWindow !== undefined && maxTokens > config.contextWindow) {
    refuse(['maxTokens'], `${maxTokens} exceeds contextWindow ${config.contextWindow}`);
  }
  const { trimSynthetic, budgetPercent } = config;
  if (trimSynthetic && maxTokens === 0 && budgetPercent > 0 && trimSynthetic.trimMaxTokens === 0) {
    if (trimSynthetic.trimThreshold >= budgetPercent) {
      refuse(
        ['trimSynthetic', 'trimThreshold'],
        `${trimSynthetic.trimThreshold} must be below budgetPercent ${budgetPercent}`,
      );
    }
  }
  if (config.summarizer === 'none' && config.model) {
    refuse(['summarizer'], 'is "none" although a model is given; leave one of them out');
  }
}
