// For the packages of this repository only. Unsupported: any release may change or remove these exports.
export { compactionConfigSchema } from './config/compaction-config.js';
export type { CompactionFactoryOptions } from './config/file-capabilities.js';
export { infinityContextSchema } from './config/presets/everruns.js';
export type { SummarizerSources } from './config/resolve-summarizer.js';
export { compactorWith, NarrativeDesks } from './create-compactor.js';
export { DEFAULT_SUMMARY_PROMPT } from './summary/prompt.js';
