import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import type { RedisClient, RedisValue } from './redis-client.js';

/** Type mapping of node-redis that returns bulk strings (type 36) as buffers. */
const AS_BYTES = { 36: Buffer } as const;

interface Evaluation {
  keys: string[];
  arguments: RedisValue[];
}

interface NodeRedisCommands {
  eval(script: string, options: Evaluation): Promise<unknown>;
  evalSha(sha1: string, options: Evaluation): Promise<unknown>;
  hmGet(key: string, fields: string[]): Promise<unknown>;
  lRange(key: string, first: number, last: number): Promise<unknown>;
}

/** The functions of a client that {@link fromNodeRedis} needs: `createClient`, `createCluster` and `createSentinel` of redis 5 and 6. */
export interface NodeRedisClient {
  withTypeMapping(mapping: typeof AS_BYTES | Record<never, never>): NodeRedisCommands;
  /** Missing in clusters, for which there is no eviction warning. */
  info?(section: string): Promise<unknown>;
}

const nodeRedisSchema = z.custom<NodeRedisClient>(
  (client) => typeof (client as NodeRedisClient | undefined)?.withTypeMapping === 'function',
  'must be a client of the package redis, version 5 or later. Pass a client of ioredis directly, without this function',
);

/**
 * Adapts a client of node-redis (the package `redis`, 5 or 6) for {@link RedisSession} and {@link RedisWorkspace}. The caller connects and
 * closes the client, and handles its `error` events.
 *
 * @throws {InvalidInputError} for anything else, such as a client of an earlier version or one of ioredis.
 */
export function fromNodeRedis(client: NodeRedisClient): RedisClient {
  parseWith(nodeRedisSchema, client, 'fromNodeRedis client');
  const bytes = client.withTypeMapping(AS_BYTES);
  // Undo the caller's own type mapping.
  const plain = client.withTypeMapping({});
  return {
    callBuffer: (command, [script, count, ...values]) => {
      const keyCount = Number(count);
      const options = { keys: values.slice(0, keyCount) as string[], arguments: values.slice(keyCount) };
      return command === 'eval'
        ? bytes.eval(String(script), options)
        : bytes.evalSha(String(script), options);
    },
    hmget: async (key, ...fields) => (await plain.hmGet(key, fields)) as unknown[],
    lrange: async (key, first, last) => (await plain.lRange(key, first, last)) as unknown[],
    info: async (section) => client.info?.(section),
  };
}
