export type {
  AfterCompaction,
  BeforeCompaction,
  CompactionCapabilityConfig,
} from './capability/capability-config.js';
export { compaction } from './capability/compaction.js';
export { undoCompaction } from './capability/undo.js';
export type { CompactionConfig, CompactionSettings } from './config/compaction-config.js';
export { compactionJsonSchema, evictionJsonSchema, parseCompactionConfig } from './config/compaction-file.js';
export { compactionFactories, createCompactionFactories } from './config/file-capabilities.js';

export { resolveCompactionConfig } from './config/resolve-compaction-config.js';
export { fallbackModel, resolveSummarizer } from './config/resolve-summarizer.js';
export { createCompactor } from './create-compactor.js';
export { toolResultEviction } from './eviction/tool-result-eviction.js';
export { Meter } from './meter.js';
export { createRecall, RECALL_HINT, type Recall } from './recall/create-recall.js';
export { whatIsGone } from './receipt.js';
export type { Fate, Reducer, ReducerContext, Reduction, ReductionTarget, View } from './reducer.js';
export { unchanged } from './reducer.js';
export { cutUnseen } from './reducers/cut-unseen.js';
export { dropOldest } from './reducers/drop-oldest.js';
export { maskOutputs } from './reducers/mask-outputs.js';
export { previewArgs } from './reducers/preview-args.js';
export { nativeCompaction, summarize } from './reducers/summarize.js';
export { trimSynthetic } from './reducers/trim-synthetic.js';
export { truncateArgs } from './reducers/truncate-args.js';
