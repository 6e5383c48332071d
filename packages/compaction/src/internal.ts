// What only the packages of this repository use. It is unsupported: any release may change or remove it.
export { compactionConfigSchema } from './config/compaction-config.js';
export type { CompactionFactoryOptions } from './config/file-capabilities.js';
export { infinityContextSchema } from './config/presets/everruns.js';
export type { SummarizerSources } from './config/resolve-summarizer.js';
export { DEFAULT_SUMMARY_PROMPT } from './summary/prompt.js';
