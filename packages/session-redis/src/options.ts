import { having } from '@x/core/internal';
import * as z from 'zod';
import type { RedisClient } from './redis-client.js';

/** Options that everything on one Redis shares. */
export const backendSchema = z.strictObject({
  /** A `Redis` or a `Cluster` of ioredis, or `fromNodeRedis(client)`. It stays the caller's: it is never closed here. */
  client: having<RedisClient>('evalsha', 'a Redis or Cluster client of ioredis, or fromNodeRedis(client)'),
  /** Before every key; what has another prefix is another store, and another workspace. Default `x:`. */
  keyPrefix: z
    .string()
    .regex(/^[^{}]*$/, 'must not contain braces: they are Redis Cluster hash tags')
    .default('x:'),
});
