import type { Reducer } from '../reducer.js';
import { cutUnseen } from '../reducers/cut-unseen.js';
import { dropOldest } from '../reducers/drop-oldest.js';
import { maskOutputs } from '../reducers/mask-outputs.js';
import { previewArgs } from '../reducers/preview-args.js';
import { nativeCompaction, summarize } from '../reducers/summarize.js';
import { trimSynthetic } from '../reducers/trim-synthetic.js';
import { truncateArgs } from '../reducers/truncate-args.js';
import type { SummarizeOptions } from './stage-schemas.js';

/** The groups of a configuration that stages share. */
interface StageSettings extends Pick<SummarizeOptions, 'keep' | 'saving' | 'redact'> {
  readonly summary: Omit<SummarizeOptions, 'keep' | 'saving' | 'redact'>;
}

/** The built-in stages, by the name that the configuration and the steps of an outcome use. */
export const STAGES = {
  cut_unseen: () => cutUnseen(),
  truncate_args: () => truncateArgs(),
  trim_synthetic: () => trimSynthetic(),
  preview_args: () => previewArgs(),
  mask_outputs: () => maskOutputs({ onlyForTokens: true }),
  native: ({ summary, keep, saving, redact }) => nativeCompaction({ ...summary, keep, saving, redact }),
  summarize: ({ summary, keep, saving, redact }) => summarize({ ...summary, keep, saving, redact }),
  drop_oldest: () => dropOldest(),
} satisfies Readonly<Record<string, (settings: StageSettings) => Reducer>>;

export type StageName = keyof typeof STAGES;

export const stageNames = Object.keys(STAGES) as [StageName, ...StageName[]];
