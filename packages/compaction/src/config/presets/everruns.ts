import * as z from 'zod/mini';
import { dropOldest } from '../../stages/drop-oldest.js';
import { maskOutputs } from '../../stages/mask-outputs.js';
import type { PresetSettings } from '../groups.js';
import { asShare, countSchema, wordsSchema } from '../values.js';

/** Number of newest messages that Everruns keeps unchanged when it summarizes. */
const KEPT = 10;

/** Number of newest tool outputs that Everruns keeps unchanged when it masks. */
const KEPT_OUTPUTS = 5;

/** Tools whose outputs Everruns never masks, because a skill's instructions stay valid. `load_skill` is this project's tool name. */
const NEVER_MASKED = ['activate_skill', 'load_skill'];

/** Keys of Everruns' `infinity_context` capability, with its defaults. */
export const infinityContextSchema = z.strictObject({
  /** Tokens at which the conversation is reduced, if the share of the window is not reached before. */
  contextBudgetTokens: z._default(z.int().check(z.minimum(1)), 100_000),
  /** Number of newest messages that stay unchanged. */
  minRecentMessages: z._default(countSchema, KEPT),
  /** Must be `null`, its default, because tokens limit how many messages stay. */
  maxRecentMessages: z.optional(z.null('must be null, because tokens limit how many messages stay')),
  /** Must be 0, its default, because only the first request always stays. */
  keepFirstMessages: z.optional(z.literal(0, 'must be 0, because only the first request always stays')),
});

/** Keys of Everruns' `compaction` capability, with its defaults. */
export const everrunsShape = {
  /**
   * `auto` runs all stages: masking, the provider's compaction, a summary, dropping. The other values select one of them.
   * `infinity_context` corresponds to that capability without `compaction`: the oldest messages stay only in the log.
   */
  strategy: z._default(
    z.enum(['auto', 'native', 'observation_masking', 'summarization', 'infinity_context']),
    'auto',
  ),
  /** Another trigger, and how many messages it keeps. */
  infinityContext: z.optional(infinityContextSchema),
  /** `false`: compacts only after the provider has rejected a request as too large, or above 90 % of a known window. */
  proactive: z._default(z.boolean(), true),
  /** A compaction is due at this share of the context window. */
  budgetPercent: z._default(
    z
      .number()
      .check(
        z.minimum(0.1),
        z.maximum(1, { error: ({ input }) => `is a share between 0.1 and 1: ${asShare(input)}` }),
      ),
    0.85,
  ),
  observationMasking: z.prefault(
    z.strictObject({
      /** Number of newest tool outputs that stay unchanged. Default 5, unless `memoryTiers` sets a number of messages. */
      keepRecentToolOutputs: z.optional(countSchema),
      summaryFormat: z._default(z.enum(['one_line', 'head_tail']), 'one_line'),
    }),
    {},
  ),
  summarization: z.prefault(
    z.strictObject({
      /** In files: the name of the model that summarizes. `null`: the agent's own. */
      model: z.nullish(z.string().check(z.minLength(1))),
      /** Kinds of facts that must survive. */
      preserve: z.nullish(z.array(z.string().check(z.minLength(1)))),
      /** Further instructions to the summarizer, such as facts to keep. */
      instructions: z.nullish(z.string()),
    }),
    {},
  ),
  /** Replaces the instructions to the model. */
  summaryPrompt: z.optional(wordsSchema),
  /** Hot messages stay verbatim, tool outputs of warm ones are masked, and a summary replaces the rest. */
  memoryTiers: z.nullish(
    z.strictObject({ hotMessages: z._default(countSchema, 20), warmMessages: z._default(countSchema, 100) }),
  ),
};

/** By key of the grouped configuration: Everruns' name for it. */
export const everrunsNames: Readonly<Record<string, string>> = {
  'keep.messages': 'memoryTiers',
  'trigger.share': 'budgetPercent',
  'trigger.tokens': 'infinityContext.contextBudgetTokens',
  'summary.prompt': 'summaryPrompt',
  'summary.instructions': 'summarization.instructions',
};

/** Maps Everruns' keys onto groups and stages. */
export function fromEverruns(
  config: z.output<z.ZodMiniObject<typeof everrunsShape>> & { readonly contextWindow?: number | undefined },
): PresetSettings {
  const {
    strategy,
    proactive,
    budgetPercent,
    observationMasking,
    summarization,
    memoryTiers: tiers,
    contextWindow = Number.POSITIVE_INFINITY,
    infinityContext = strategy === 'infinity_context' ? infinityContextSchema.parse({}) : undefined,
  } = config;
  const newest = infinityContext?.minRecentMessages ?? (tiers ? 0 : KEPT);
  const isMasking = strategy === 'auto' || strategy === 'observation_masking';
  const callsModel = strategy !== 'observation_masking' && strategy !== 'infinity_context';
  const { keepRecentToolOutputs = tiers ? 0 : KEPT_OUTPUTS, summaryFormat } = observationMasking;
  const masking = maskOutputs({
    keepRecentToolOutputs,
    format: summaryFormat,
    excludeTools: NEVER_MASKED,
    ...(tiers ? { keepRecentMessages: tiers.hotMessages } : {}),
  });
  const stages = {
    auto: [masking, 'native', 'summarize', 'drop_oldest'],
    // The ladder adds a record for parts that the provider could not condense.
    native: ['native', 'drop_oldest'],
    // Masking cannot always make room. A record comes next: it costs no model call, and dropping would lose more.
    observation_masking: [masking, 'summarize', 'drop_oldest'],
    summarization: [...(tiers ? [masking] : []), 'summarize', 'drop_oldest'],
    infinity_context: [dropOldest({ newest })],
  } as const;
  return {
    ...(callsModel ? {} : { model: null }),
    trigger: {
      share: proactive ? budgetPercent : 0,
      ...(infinityContext ? { tokens: Math.min(infinityContext.contextBudgetTokens, contextWindow) } : {}),
    },
    keep: {
      messages: tiers ? Math.max(tiers.hotMessages, newest) : newest,
      ...(isMasking ? { outputs: keepRecentToolOutputs } : {}),
    },
    summary: {
      warmMessages: tiers ? tiers.hotMessages + tiers.warmMessages : 0,
      preserve: summarization.preserve ?? undefined,
      ...(callsModel
        ? { prompt: config.summaryPrompt, instructions: summarization.instructions ?? undefined }
        : {}),
    },
    stages: ['cut_unseen', ...stages[strategy]],
  };
}
