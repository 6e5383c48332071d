export type { RedisClient } from './redis-client.js';
export { RedisSession, type RedisSessionOptions } from './redis-session.js';
