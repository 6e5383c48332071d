import * as z from 'zod/mini';
import { previewArgs } from '../../stages/preview-args.js';
import { trimSynthetic } from '../../stages/trim-synthetic.js';
import type { PresetSettings } from '../groups.js';
import { countSchema, wordsSchema } from '../values.js';

const percentSchema = z.number().check(
  z.minimum(0),
  z.maximum(100),
  z.refine((value) => value === 0 || value >= 1, {
    error({ input }) {
      const percent = Math.round(Number(input) * 1e4) / 100;
      return `is in percent: write ${percent} for ${percent} %`;
    },
  }),
);

/** Percent of the window at which repeated injected messages are removed. */
const TRIM_THRESHOLD = 50;

/** Keys of Aura's `compaction` feature, with its defaults. */
export const auraShape = {
  /** A compaction is due at this percentage of the context window; 0 turns it off. */
  threshold: z._default(percentSchema, 80),
  /** If not 0: due at this many tokens, instead of the percentage. */
  maxTokens: z._default(countSchema, 0),
  /** Percentage of the window at which repeated injected messages are removed. Default 50, if that is below `threshold`. */
  trimThreshold: z.optional(percentSchema),
  /** If not 0: repeated injected messages are removed at this many tokens, instead of `trimThreshold`. */
  trimMaxTokens: z._default(countSchema, 0),
  /** Newest messages that stay unchanged. */
  keepLastMessages: z._default(countSchema, 10),
  /** In files: the name of a prompt with which the agent's own model summarizes. */
  prompt: z.nullish(z.string()),
  /** In files: the name of a dedicated summarizer; `prompt` takes precedence. */
  agent: z.nullish(z.string()),
  /** Replaces the instructions to the model. */
  summaryPrompt: z.optional(wordsSchema),
  /** Summarizes in this many parts. Each part's summary is input to the next. */
  chunks: z._default(z.int().check(z.minimum(1)), 1),
  /** Maximum UTF-16 units of each tool result that the summarizer reads. */
  toolResultMaxLength: z._default(countSchema, 200),
  /** Shorter lengths of tool results to try if the request to the summarizer is too large, or if its summary is too long. */
  truncationRetries: z._default(z.array(countSchema), [150, 100, 50, 0]),
  /** Shortens large arguments of old tool calls. */
  prune: z.prefault(
    z.strictObject({
      mode: z._default(z.enum(['off', 'iteration', 'compaction']), 'off'),
      /** Percentage of the window: the newest messages up to this size stay unchanged. */
      protectPercent: z._default(percentSchema, 30),
      /** If the arguments of one call have more tokens, they are shortened. */
      argThreshold: z._default(countSchema, 200),
    }),
    {},
  ),
};

/** By key of the grouped configuration: Aura's name for it. */
export const auraNames: Readonly<Record<string, string>> = {
  'keep.messages': 'keepLastMessages',
  'trigger.share': 'threshold',
  'trigger.tokens': 'maxTokens',
  'summary.prompt': 'summaryPrompt',
};

/** Rejects keys of Aura that contradict each other. */
export function refuseInAura(
  { threshold, maxTokens, trimThreshold = 0, trimMaxTokens }: z.output<z.ZodMiniObject<typeof auraShape>>,
  refuse: (path: string, message: string) => void,
): void {
  if (maxTokens > 0 || threshold === 0 || trimMaxTokens > 0 || trimThreshold < threshold) return;
  refuse('trimThreshold', `${trimThreshold} must be below threshold ${threshold}`);
}

/** Maps Aura's keys onto groups and stages. */
export function fromAura(config: z.output<z.ZodMiniObject<typeof auraShape>>): PresetSettings {
  const { threshold, maxTokens, trimMaxTokens, prune } = config;
  const trim = config.trimThreshold ?? (maxTokens === 0 && threshold <= TRIM_THRESHOLD ? 0 : TRIM_THRESHOLD);
  const { chunks, toolResultMaxLength, truncationRetries } = config;
  return {
    trigger: maxTokens > 0 ? { tokens: maxTokens } : { share: threshold / 100 },
    keep: { messages: config.keepLastMessages },
    summary: {
      prompt: config.summaryPrompt,
      toolResultLength: toolResultMaxLength,
      chunks,
      truncationRetries,
      retryTooLong: true,
    },
    stages: [
      'cut_unseen',
      trimSynthetic({ trimThreshold: trim / 100, trimMaxTokens }),
      ...(prune.mode === 'off'
        ? []
        : [
            previewArgs({
              mode: prune.mode,
              argThreshold: prune.argThreshold,
              protectPercent: prune.protectPercent / 100,
            }),
          ]),
      'summarize',
      'drop_oldest',
    ],
  };
}
