export { SessionSaver, type SessionSaverOptions } from './checkpointer/session-saver.js';
export { compactionMiddleware } from './compaction-middleware.js';
export type {
  CompactionMiddlewareOptions,
  CompactionMiddlewareSettings,
  MiddlewareSize,
} from './middleware-options.js';
