import { parseWith } from '@x/core/internal';
import type * as z from 'zod/mini';
import { type Stage, unchanged } from '../stage.js';
import { Composer } from '../summary/compose.js';
import { summarizeOptionsSchema } from '../summary/options.js';
import {
  condenseNatively,
  prepareNatively,
  prepareSummary,
  summarizeView,
} from '../summary/write-summary.js';

/**
 * Replaces the older part of a conversation by a summary: a narrative that a model writes, followed by a record that rules make. Without a
 * model, or if the model fails or takes longer than `waitMs`, the summary is the record alone. `keep` sets how many of the newest messages
 * stay verbatim; fewer stay if the window has no room. The latest user request and open calls always stay.
 */
export function summarize(options: z.input<typeof summarizeOptionsSchema> = {}): Stage {
  const settings = parseWith(summarizeOptionsSchema, options, 'summarize options');
  return {
    name: 'summarize',
    cost: 'llm',
    worksInDryRun: true,
    reduce: (...given) => summarizeView(new Composer(settings, ...given)),
    prepare: (...given) => prepareSummary(new Composer(settings, ...given)),
  };
}

/** Says why a provider's own compaction does not run, and how to turn it on. */
export function nativeIsOff(modelId: string): string {
  return (
    `the provider's own compaction is not turned on for ${modelId}. OpenAI and Anthropic offer one. In files, set ` +
    'native_compaction: auto on the model; in code, set the option compact of fromAiSdk.'
  );
}

/**
 * Condenses the older part with the provider's own endpoint, if the model offers `compact`. Keeps the provider's answer unchanged,
 * together with the record of {@link summarize} for other models. Applied only if it saves enough. If the provider fails, the
 * conversation is unchanged.
 */
export function nativeCompaction(options: z.input<typeof summarizeOptionsSchema> = {}): Stage {
  const settings = parseWith(summarizeOptionsSchema, options, 'nativeCompaction options');
  return {
    name: 'native',
    cost: 'llm',
    reduce: async (view, budget, context) =>
      context.model?.compact
        ? condenseNatively(new Composer(settings, view, budget, context), context.model)
        : unchanged(view, nativeIsOff(context.model?.id ?? 'the model')),
    prepare: (view, budget, context) =>
      context.model?.compact !== undefined &&
      prepareNatively(new Composer(settings, view, budget, context), context.model),
  };
}
