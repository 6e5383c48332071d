export type {
  AfterCompaction,
  BeforeCompaction,
  BeforeCompactionAnswer,
  CompactionCapabilityConfig,
  CompactionCapabilitySettings,
} from './capability/capability-config.js';
export { compaction } from './capability/compaction.js';
export { type UndoScope, undoCompaction } from './capability/undo.js';
export {
  type CompactionConfig,
  type CompactionSettings,
  compactionConfigSchema,
} from './config/compaction-config.js';
export {
  compactionJsonSchema,
  evictionJsonSchema,
  type ParsedCompactionConfig,
  parseCompactionConfig,
} from './config/compaction-file.js';
export {
  type CompactionFactoryOptions,
  compactionFactories,
  createCompactionFactories,
  type FileCapabilityFactory,
} from './config/file-capabilities.js';
export { infinityContextSchema } from './config/presets/everruns.js';
export {
  type CompactionConfigSources,
  resolveCompactionConfig,
} from './config/resolve-compaction-config.js';
export {
  fallbackModel,
  type ResolvedSummarizer,
  resolveSummarizer,
  type SummarizerAgent,
  type SummarizerSources,
} from './config/resolve-summarizer.js';
export { createCompactor } from './create-compactor.js';
export {
  type EvictionConfig,
  evictionConfigSchema,
  toolResultEviction,
} from './eviction/tool-result-eviction.js';
export { Meter } from './meter.js';
export {
  createRecall,
  RECALL_HINT,
  type Recall,
  type RecallOptions,
  type RecallRequest,
} from './recall/create-recall.js';
export type { Fate, Reducer, ReducerContext, Reduction, ReductionTarget, View } from './reducer.js';
export { unchanged } from './reducer.js';
export { cutUnseen } from './reducers/cut-unseen.js';
export { dropOldest } from './reducers/drop-oldest.js';
export { maskOutputs } from './reducers/mask-outputs.js';
export { previewArgs } from './reducers/preview-args.js';
export { nativeCompaction, summarize } from './reducers/summarize.js';
export { trimSynthetic } from './reducers/trim-synthetic.js';
export { truncateArgs } from './reducers/truncate-args.js';
export { FALLBACK_CONTEXT_WINDOW } from './run/budget.js';
export { DEFAULT_SUMMARY_PROMPT } from './summary/prompt.js';
