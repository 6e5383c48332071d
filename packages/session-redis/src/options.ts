import * as z from 'zod';
import type { RedisClient } from './redis-client.js';

export const clientSchema = z.custom<RedisClient>(
  (client) => typeof (client as RedisClient | undefined)?.evalsha === 'function',
  'must be a Redis or Cluster client of ioredis, or fromNodeRedis(client)',
);

export const keyPrefixSchema = z
  .string()
  .regex(/^[^{}]*$/, 'must not contain braces: they are Redis Cluster hash tags')
  .default('x:');
