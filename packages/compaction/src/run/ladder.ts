import type { Message } from '@x/core';
import { redactorFor } from '../conversation/redaction.js';
import { excerptsOf } from '../record/excerpts.js';
import type { Stage } from '../stage.js';
import { cutUnseen } from '../stages/cut-unseen.js';
import { dropOldest } from '../stages/drop-oldest.js';
import { maskOutputs } from '../stages/mask-outputs.js';
import { previewArgs } from '../stages/preview-args.js';
import { nativeCompaction, summarize } from '../stages/summarize.js';
import { trimSynthetic } from '../stages/trim-synthetic.js';
import { truncateArgs } from '../stages/truncate-args.js';
import type { SummarizeOptions } from '../summary/options.js';

/** The groups of a configuration that several stages use. */
interface StageSettings extends Pick<SummarizeOptions, 'keep' | 'saving'> {
  readonly summary: Omit<SummarizeOptions, 'keep' | 'saving'>;
}

/** The built-in stages, by the name that the configuration and the steps of an outcome use. */
const STAGES = {
  cut_unseen: () => cutUnseen(),
  truncate_args: () => truncateArgs(),
  trim_synthetic: () => trimSynthetic(),
  preview_args: () => previewArgs(),
  mask_outputs: () => maskOutputs({ onlyForTokens: true }),
  native: ({ summary, keep, saving }) => nativeCompaction({ ...summary, keep, saving }),
  summarize: ({ summary, keep, saving }) => summarize({ ...summary, keep, saving }),
  drop_oldest: () => dropOldest(),
} satisfies Readonly<Record<string, (settings: StageSettings) => Stage>>;

type StageName = keyof typeof STAGES;

export const stageNames = Object.keys(STAGES) as [StageName, ...StageName[]];

/** The default stages: make room for unseen results, let the provider compact if it can, else summarize, and drop the oldest last. */
const DEFAULT_STAGES: readonly StageName[] = ['cut_unseen', 'native', 'summarize', 'drop_oldest'];

/** The settings of a ladder: its stages, and the groups that several of them use. */
interface LadderSettings extends StageSettings {
  readonly stages?: readonly (StageName | Stage)[] | undefined;
  readonly redact: Parameters<typeof redactorFor>[0];
}

/** Returns the stages of a configuration, in the order in which they run. */
export function stagesOf(config: LadderSettings): readonly Stage[] {
  const { stages = DEFAULT_STAGES } = config;
  const ladder = stages.map((stage) => (typeof stage === 'string' ? STAGES[stage](config) : stage));
  const names = ladder.map(({ name }) => name);
  const mayStandIn = config.summary.record !== 0 && config.summary.fallback === 'record';
  if (!names.includes('native') || names.includes('summarize') || !mayStandIn) return ladder;
  // If the provider could not condense a part, a record must replace it before `drop_oldest` removes it.
  const dropping = names.indexOf('drop_oldest', names.indexOf('native'));
  return ladder.toSpliced(dropping === -1 ? ladder.length : dropping, 0, recordAlone(config));
}

/** Makes a `summarize` that calls no model. */
function recordAlone(config: LadderSettings): Stage {
  const { reduce, ...stage } = STAGES.summarize(config);
  return {
    ...stage,
    cost: 'free',
    reduce: (view, budget, context) => reduce(view, budget, { ...context, summarizer: undefined }),
  };
}

/**
 * Returns a function to call with every message before a compaction is due. It prepares and caches the excerpts of the message, so that a
 * compaction need not prepare them all at once. Returns `undefined` if no record is written.
 */
export function observerFor(config: LadderSettings): ((message: Message) => void) | undefined {
  const writes = stagesOf(config).some(({ name }) => name === 'summarize');
  if (!writes || config.summary.record === 0) return undefined;
  const redactor = redactorFor(config.redact);
  return (message) => void excerptsOf(message, redactor);
}
