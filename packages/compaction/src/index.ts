export type {
  AfterCompaction,
  BeforeCompaction,
  CompactionCapabilityConfig,
} from './capability/capability-config.js';
export { compaction } from './capability/compaction.js';
export { undoCompaction } from './capability/undo.js';
export type { CompactionConfig, CompactionSettings } from './config/compaction-config.js';
export { compactionJsonSchema, evictionJsonSchema, parseCompactionConfig } from './config/compaction-file.js';
export { createCompactionFactories } from './config/file-capabilities.js';

export { resolveCompactionConfig } from './config/resolve-compaction-config.js';
export { fallbackModel, resolveSummarizer } from './config/resolve-summarizer.js';
export { createCompactor } from './create-compactor.js';
export { toolResultEviction } from './eviction/tool-result-eviction.js';
export { Meter } from './meter.js';
export { createRecall, RECALL_HINT, type Recall } from './recall/create-recall.js';
export { whatIsGone } from './receipt.js';
export type { Fate, Reduction, ReductionTarget, Stage, StageContext, View } from './stage.js';
export { unchanged } from './stage.js';
export { cutUnseen } from './stages/cut-unseen.js';
export { dropOldest } from './stages/drop-oldest.js';
export { maskOutputs } from './stages/mask-outputs.js';
export { previewArgs } from './stages/preview-args.js';
export { nativeCompaction, summarize } from './stages/summarize.js';
export { trimSynthetic } from './stages/trim-synthetic.js';
export { truncateArgs } from './stages/truncate-args.js';
