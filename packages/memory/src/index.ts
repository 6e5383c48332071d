export { MemoryFormatError, MemoryIndexError } from './errors.js';
export { sessionHistory } from './history/session-history.js';
export { memory, memoryCapabilities } from './memory/memory.js';
export { type MemoryHit, MemoryIndex } from './memory-index.js';
export type { MemoryScope } from './memory-scope.js';
export { MemoryService } from './memory-service.js';
export type { MemoryFact } from './notes.js';
export type { MemoryConfig } from './settings.js';
export { workspaceContext } from './workspace-context.js';
