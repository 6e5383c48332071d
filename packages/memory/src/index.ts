export type { SessionHistoryConfig } from './history/history-config.js';
export { sessionHistory } from './history/session-history.js';
export { memory } from './memory/memory.js';
export type { MemoryConfig } from './memory/memory-config.js';
export { type MemoryHit, MemoryIndex, type MemorySearchOptions } from './memory-index.js';
export { MemoryIndexError } from './memory-index-error.js';
