import type { Message } from '@x/core';
import type { ResolvedCompactionConfig } from '../config/compaction-config.js';
import type { StageName } from '../config/stages.js';
import { redactorFor } from '../conversation/redaction.js';
import { excerptsOf } from '../record/excerpts.js';
import type { Reducer } from '../reducer.js';
import { cutUnseen } from '../reducers/cut-unseen.js';
import { dropOldest } from '../reducers/drop-oldest.js';
import { maskOutputs } from '../reducers/mask-outputs.js';
import { maskSuperseded } from '../reducers/mask-superseded.js';
import { nativeCompaction } from '../reducers/native-compaction.js';
import { previewArgs } from '../reducers/preview-args.js';
import { referenceMedia } from '../reducers/reference-media.js';
import { summarize } from '../reducers/summarize.js';
import { trimSynthetic } from '../reducers/trim-synthetic.js';
import { truncateArgs } from '../reducers/truncate-args.js';

/** Room for what no model has seen; the model's own compaction where it offers one, else a summary; the oldest go last. */
const DEFAULT_STAGES: readonly StageName[] = ['cut_unseen', 'native', 'summarize', 'drop_oldest'];

const STAGES: Readonly<Record<StageName, (config: ResolvedCompactionConfig) => Reducer>> = {
  cut_unseen: () => cutUnseen(),
  truncate_args: () => truncateArgs(),
  trim_synthetic: () => trimSynthetic(),
  preview_args: () => previewArgs(),
  reference_media: () => referenceMedia(),
  mask_superseded: () => maskSuperseded({ onlyForTokens: true }),
  mask_outputs: () => maskOutputs({ onlyForTokens: true }),
  native: ({ keep, saving }) => nativeCompaction({ keep, saving }),
  summarize: ({ summary, keep, saving, redact }) => summarize({ ...summary, keep, saving, redact }),
  drop_oldest: () => dropOldest(),
};

/** The reducers of a configuration, in the order in which they run. */
export function reducersOf(config: ResolvedCompactionConfig): readonly Reducer[] {
  const stages: readonly (StageName | Reducer)[] = config.stages ?? DEFAULT_STAGES;
  return stages.map((stage) => (typeof stage === 'string' ? STAGES[stage](config) : stage));
}

/**
 * What is to be called with every message as it comes, so that its excerpts are known when a compaction chooses among them,
 * and need not be made all at once. `undefined` where no record is written. A second call costs nothing.
 */
export function observerFor(config: ResolvedCompactionConfig): ((message: Message) => void) | undefined {
  const stages: readonly (StageName | Reducer)[] = config.stages ?? DEFAULT_STAGES;
  if (!stages.includes('summarize') || config.summary.record === 0) return undefined;
  const redactor = redactorFor(config.redact);
  return (message) => void excerptsOf(message, redactor);
}
