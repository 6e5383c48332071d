import { having } from '@x/core/internal';
import * as z from 'zod';
import type { RedisClient } from './redis-client.js';

/** Options shared by the session store and the workspace. */
export const backendSchema = z.strictObject({
  /** A `Redis` or `Cluster` of ioredis, or `fromNodeRedis(client)`. The caller owns the client: it is never closed here. */
  client: having<RedisClient>('callBuffer', 'a Redis or Cluster client of ioredis, or fromNodeRedis(client)'),
  /** Prefix of every key. Stores and workspaces with different prefixes are separate. Default `x:`. */
  keyPrefix: z
    .string()
    .regex(/^[^{}]*$/, 'must not contain braces: they are Redis Cluster hash tags')
    .default('x:'),
});
