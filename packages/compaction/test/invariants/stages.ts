import {
  type CompactionConfig,
  maskOutputs,
  nativeCompaction,
  previewArgs,
  type Stage,
  summarize,
  trimSynthetic,
  truncateArgs,
} from '../../src/index.js';
import { stageNames } from '../../src/run/ladder.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

/** A model that summarizes, and that condenses by an endpoint of its own. */
const ableModel = () =>
  modelOf(() => GOOD_SUMMARY, {
    compact: async () => ({
      content: [{ type: 'opaque', provider: 'acme', data: { encrypted: 'xyz' } }],
    }),
  });

/** Stages with options that make them eager. */
const single: Readonly<Record<string, Stage>> = {
  truncateArgs: truncateArgs({ keepMessages: 2, maxArgLength: 60 }),
  trimSynthetic: trimSynthetic({ trimMaxTokens: 1 }),
  previewArgs: previewArgs({ mode: 'compaction', argThreshold: 1, protectPercent: 0 }),
  'maskOutputs, one line': maskOutputs({ keepRecentToolOutputs: 1 }),
  'maskOutputs, head and tail': maskOutputs({ keepRecentToolOutputs: 1, format: 'head_tail' }),
  nativeCompaction: nativeCompaction({ keep: { messages: 4 } }),
  summarize: summarize({ keep: { messages: 4 } }),
  'summarize, by tokens': summarize({ keep: { tokens: 300 } }),
};

/** What the invariants are tried on: every stage alone, the record alone, and the ladders that are built of them. */
export const compactors: Readonly<Record<string, () => CompactionConfig>> = {
  ...Object.fromEntries(
    Object.entries(single).map(([name, stage]) => [
      name,
      (): CompactionConfig => ({ stages: [stage], model: ableModel() }),
    ]),
  ),
  ...Object.fromEntries(
    stageNames.map((name) => [name, (): CompactionConfig => ({ stages: [name], model: ableModel() })]),
  ),
  'the record alone': () => ({ stages: [summarize({ keep: { messages: 4 } })] }),
  'the ladder without a model': () => ({ trigger: { messages: 12 } }),
  'the ladder with a model': () => ({ trigger: { messages: 12 }, model: modelOf(() => GOOD_SUMMARY) }),
  'the provider’s own compaction': () => ({
    stages: ['native', 'drop_oldest'],
    trigger: { messages: 12 },
    model: ableModel(),
  }),
  tiers: () => ({ preset: 'everruns', memoryTiers: { hotMessages: 4, warmMessages: 8 } }),
};
