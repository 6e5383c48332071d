import { parseWith } from '@x/core/internal';
import type * as z from 'zod';
import { type Reducer, unchanged } from '../reducer.js';
import { summarizeOptionsSchema } from '../summary/options.js';
import { SummaryRun } from '../summary/summary-run.js';

/**
 * Replaces the older part of a conversation by a summary: a narrative that a model writes, followed by a mechanical
 * record. Without a model, or when the model fails, the record alone is the summary. The newest messages stay verbatim as
 * `keep` says, fewer where they leave no room. The latest user request and open calls always stay.
 */
export function summarize(options: z.input<typeof summarizeOptionsSchema> = {}): Reducer {
  const settings = parseWith(summarizeOptionsSchema, options, 'summarize options');
  return {
    name: 'summarize',
    cost: 'llm',
    worksInDryRun: true,
    reduce: (view, budget, context) => new SummaryRun(settings, view, budget, context).run(),
  };
}

/** Says why a provider's own compaction does not run, and how to switch it on. */
export function nativeIsOff(modelId: string): string {
  return (
    `the compaction of the provider is not switched on for ${modelId}. OpenAI and Anthropic have one: set native_compaction: auto ` +
    'on the model in files, in code the option compact of fromAiSdk.'
  );
}

/**
 * Has the provider condense the older part with its own endpoint, where the model offers `compact`. Its answer is kept
 * byte for byte beside the record of {@link summarize}, which everybody reads who cannot read the provider's. Used only when it
 * saves enough. A failure of the provider leaves the conversation as it was.
 */
export function nativeCompaction(options: z.input<typeof summarizeOptionsSchema> = {}): Reducer {
  const settings = parseWith(summarizeOptionsSchema, options, 'nativeCompaction options');
  return {
    name: 'native',
    cost: 'llm',
    reduce: async (view, budget, context) =>
      context.model?.compact
        ? new SummaryRun(settings, view, budget, { ...context, summarizer: undefined }).runNative()
        : unchanged(view, nativeIsOff(context.model?.id ?? 'the model')),
  };
}
