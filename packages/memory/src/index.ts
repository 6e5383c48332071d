export type { AskOptions } from './ask-model.js';
export {
  type ConsolidationOutcome,
  MemoryConsolidator,
} from './consolidate/consolidator.js';
export type { MemoryVersion } from './consolidate/versions.js';
export { MemoryIndexError, MemoryRefusedError } from './errors.js';
export type { FactOutcome } from './find-facts.js';
export { type FlushOptions, type FlushOutcome, MemoryFlushManager } from './flush/flush-manager.js';
export { type SessionHistoryConfig, sessionHistory } from './history/session-history.js';
export type { MaintenanceReport } from './maintenance.js';
export { memory, memoryCapabilities } from './memory/memory.js';
export {
  type MemoryHit,
  MemoryIndex,
  type MemorySearchOptions,
} from './memory-index.js';
export type { MemoryPlace, MemoryScope } from './memory-scope.js';
export {
  type MemoryFact,
  MemoryService,
} from './memory-service.js';
export type { FactAuthor, FactSource } from './notes.js';
export type {
  MemoryConfig,
  MemoryServiceOptions,
} from './settings.js';
export { type WorkspaceContextConfig, workspaceContext } from './workspace-context.js';
