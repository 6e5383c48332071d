import * as z from 'zod';
import { maskOutputs } from '../../reducers/mask-outputs.js';
import { countSchema } from '../stage-schemas.js';
import type { PresetSettings } from './preset.js';

/** Messages that Everruns' summary leaves as they are. */
const KEPT = 10;

/** Keys of Everruns' `compaction` capability, with its defaults. */
export const everrunsShape = {
  /** `auto` masks, has the provider compact, summarizes, drops; the others name the one stage that is wanted. */
  strategy: z.enum(['auto', 'native', 'observation_masking', 'summarization']).default('auto'),
  /** `false`: only after the provider has refused a request. */
  proactive: z.boolean().default(true),
  /** Due at this share of the context window. */
  budgetPercent: z
    .number()
    .min(0.1)
    .max(1, 'is a share between 0.1 and 1: write 0.85 for 85 %')
    .default(0.85),
  observationMasking: z
    .strictObject({
      /** The newest tool outputs, which stay whole. */
      keepRecentToolOutputs: countSchema.default(5),
      summaryFormat: z.enum(['one_line', 'head_tail']).default('one_line'),
    })
    .prefault({}),
  summarization: z
    .strictObject({
      /** In files: the name of the model that summarizes. `null`: the agent's own. */
      model: z.string().min(1).nullable().optional(),
      /** Kinds of facts that must survive. */
      preserve: z.array(z.string().min(1)).nullable().optional(),
      /** More to keep, in words. */
      instructions: z.string().nullable().optional(),
    })
    .prefault({}),
  /** Replaces the instructions to the model, in words. */
  summaryPrompt: z.string().trim().min(1).optional(),
  /** Hot messages stay verbatim, tool outputs of warm ones are masked, a summary stands for the rest. */
  memoryTiers: z
    .strictObject({ hotMessages: countSchema.default(20), warmMessages: countSchema.default(100) })
    .optional(),
};

/** Names Everruns' keys for what the grouped configuration calls otherwise. */
export const everrunsNames: Readonly<Record<string, string>> = {
  'keep.messages': 'memoryTiers',
  'trigger.share': 'budgetPercent',
  'summary.prompt': 'summaryPrompt',
  'summary.instructions': 'summarization.instructions',
};

/** Maps Everruns' keys onto groups and stages. */
export function fromEverruns(config: z.output<z.ZodObject<typeof everrunsShape>>): PresetSettings {
  const {
    strategy,
    proactive,
    budgetPercent,
    observationMasking,
    summarization,
    memoryTiers: tiers,
  } = config;
  const { keepRecentToolOutputs, summaryFormat } = observationMasking;
  const masking = maskOutputs({
    keepRecentToolOutputs,
    format: summaryFormat,
    ...(tiers ? { keepRecentMessages: tiers.hotMessages } : {}),
  });
  const stages = {
    auto: [masking, 'native', 'summarize', 'drop_oldest'],
    native: ['native', 'drop_oldest'],
    // Masking cannot always make room: the record of what happened costs no call, dropping would lose it.
    observation_masking: [masking, 'summarize', 'drop_oldest'],
    summarization: [...(tiers ? [masking] : []), 'summarize', 'drop_oldest'],
  } as const;
  return {
    ...(strategy === 'observation_masking' ? { model: null } : {}),
    trigger: { share: proactive ? budgetPercent : 0 },
    keep: { messages: tiers ? tiers.hotMessages + tiers.warmMessages : KEPT },
    summary: {
      preserve: summarization.preserve ?? undefined,
      ...(strategy === 'observation_masking'
        ? {}
        : { prompt: config.summaryPrompt, instructions: summarization.instructions ?? undefined }),
    },
    stages: ['cut_unseen', ...stages[strategy]],
  };
}
