export { compactionMiddleware } from './compaction-middleware.js';
export type { CompactionMiddlewareOptions, MiddlewareSize } from './middleware-options.js';
