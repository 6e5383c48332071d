export type { MemoryConsolidatorOptions } from './consolidate/consolidation-config.js';
export {
  type ConsolidationOptions,
  type ConsolidationOutcome,
  MemoryConsolidator,
} from './consolidate/consolidator.js';
export type { MemoryVersion } from './consolidate/versions.js';
export { memoryCapabilities } from './file-capabilities.js';
export type { FactOutcome } from './find-facts.js';
export type { MemoryFlushManagerOptions } from './flush/flush-config.js';
export { type FlushOptions, type FlushOutcome, MemoryFlushManager } from './flush/flush-manager.js';
export type { SessionHistoryConfig } from './history/history-config.js';
export { sessionHistory } from './history/session-history.js';
export type { EmbeddingConfig } from './index/line-vectors.js';
export type { MaintenanceReport, MemoryMaintenanceOptions } from './maintenance/maintenance-config.js';
export { MemoryMaintenanceScheduler } from './maintenance/maintenance-scheduler.js';
export { memory } from './memory/memory.js';
export type { MemoryConfig } from './memory/memory-config.js';
export {
  type MemoryHit,
  MemoryIndex,
  type MemoryIndexOptions,
  type MemorySearchOptions,
} from './memory-index.js';
export { MemoryIndexError } from './memory-index-error.js';
export { MemoryRefusedError } from './memory-refused-error.js';
export type { MemoryScope } from './memory-scope.js';
export {
  type MemoryFact,
  type MemoryPlace,
  MemoryService,
  type MemoryServiceOptions,
} from './memory-service.js';
export type { FactAuthor, FactSource } from './note-line.js';
export { workspaceContext } from './workspace-context/workspace-context.js';
export type { WorkspaceContextConfig } from './workspace-context/workspace-context-config.js';
