export { fromNodeRedis } from './from-node-redis.js';
export { redisBackend } from './redis-backend.js';
export type { RedisClient } from './redis-client.js';
export { RedisSession, type RedisSessionOptions } from './redis-session.js';
export { RedisWorkspace, type RedisWorkspaceOptions } from './workspace/redis-workspace.js';
