export { SessionSaver } from './checkpointer/session-saver.js';
export { compactionMiddleware } from './compaction-middleware.js';
export type { CompactionMiddlewareOptions } from './middleware-options.js';
