import type { Message } from '@x/core';
import { redactorFor } from '../conversation/redaction.js';
import { excerptsOf } from '../record/excerpts.js';
import type { Reducer } from '../reducer.js';
import { cutUnseen } from '../reducers/cut-unseen.js';
import { dropOldest } from '../reducers/drop-oldest.js';
import { maskOutputs } from '../reducers/mask-outputs.js';
import { previewArgs } from '../reducers/preview-args.js';
import { nativeCompaction, summarize } from '../reducers/summarize.js';
import { trimSynthetic } from '../reducers/trim-synthetic.js';
import { truncateArgs } from '../reducers/truncate-args.js';
import type { SummarizeOptions } from '../summary/options.js';

/** The groups of a configuration that stages share. */
interface StageSettings extends Pick<SummarizeOptions, 'keep' | 'saving' | 'redact'> {
  readonly summary: Omit<SummarizeOptions, 'keep' | 'saving' | 'redact'>;
}

/** The built-in stages, by the name that the configuration and the steps of an outcome use. */
const STAGES = {
  cut_unseen: () => cutUnseen(),
  truncate_args: () => truncateArgs(),
  trim_synthetic: () => trimSynthetic(),
  preview_args: () => previewArgs(),
  mask_outputs: () => maskOutputs({ onlyForTokens: true }),
  native: ({ summary, keep, saving, redact }) => nativeCompaction({ ...summary, keep, saving, redact }),
  summarize: ({ summary, keep, saving, redact }) => summarize({ ...summary, keep, saving, redact }),
  drop_oldest: () => dropOldest(),
} satisfies Readonly<Record<string, (settings: StageSettings) => Reducer>>;

type StageName = keyof typeof STAGES;

export const stageNames = Object.keys(STAGES) as [StageName, ...StageName[]];

/** Room for what no model has seen; the model's own compaction where it offers one, else a summary; the oldest go last. */
const DEFAULT_STAGES: readonly StageName[] = ['cut_unseen', 'native', 'summarize', 'drop_oldest'];

/** The settings of a ladder: its stages, and the groups that these share. */
interface LadderSettings extends StageSettings {
  readonly stages?: readonly (StageName | Reducer)[] | undefined;
}

/** Makes the reducers of a configuration, in the order in which they run. */
export function reducersOf(config: LadderSettings): readonly Reducer[] {
  const { stages = DEFAULT_STAGES } = config;
  const reducers = stages.map((stage) => (typeof stage === 'string' ? STAGES[stage](config) : stage));
  const names = reducers.map(({ name }) => name);
  if (!names.includes('native') || names.includes('summarize') || !mayStandIn(config)) return reducers;
  // What the provider could not condense must not be lost to the stage that drops.
  const dropping = names.indexOf('drop_oldest', names.indexOf('native'));
  return reducers.toSpliced(dropping === -1 ? reducers.length : dropping, 0, recordAlone(config));
}

/** Tests whether the configuration lets a record take the place of a failed model. */
function mayStandIn({ summary }: LadderSettings): boolean {
  return summary.record !== 0 && summary.fallback === 'record';
}

/** Makes a `summarize` that calls no model. */
function recordAlone(config: LadderSettings): Reducer {
  const { reduce, ...stage } = STAGES.summarize(config);
  return {
    ...stage,
    cost: 'free',
    reduce: (view, budget, context) => reduce(view, budget, { ...context, summarizer: undefined }),
  };
}

/**
 * Makes the function to call with every message before a compaction is due. It makes the excerpts of a message, which a compaction
 * would else make all at once. `undefined` where no record is written. A second call costs nothing.
 */
export function observerFor(config: LadderSettings): ((message: Message) => void) | undefined {
  const writes = reducersOf(config).some(({ name }) => name === 'summarize');
  if (!writes || config.summary.record === 0) return undefined;
  const redactor = redactorFor(config.redact);
  return (message) => void excerptsOf(message, redactor);
}
