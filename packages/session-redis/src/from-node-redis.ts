import { parseWith } from '@x/core';
import { z } from 'zod';
import type { RedisClient, RedisTransaction, RedisValue } from './redis-client.js';

/** By node-redis' number for bulk strings: what replies of that type become. */
const AS_BYTES = { 36: Buffer } as const;

interface Evaluation {
  keys: string[];
  arguments: RedisValue[];
}

interface NodeRedisScripts {
  eval(script: string, options: Evaluation): Promise<unknown>;
  evalSha(sha1: string, options: Evaluation): Promise<unknown>;
}

interface NodeRedisTransaction {
  hmGet(key: string, fields: string[]): unknown;
  lRange(key: string, first: number, last: number): unknown;
  exec(): Promise<unknown>;
}

/** What {@link fromNodeRedis} asks of a client: `createClient`, `createCluster` and `createSentinel` of redis 5 and 6. */
export interface NodeRedisClient extends NodeRedisScripts {
  withTypeMapping(mapping: typeof AS_BYTES): NodeRedisScripts;
  multi(): NodeRedisTransaction;
}

const nodeRedisSchema = z.custom<NodeRedisClient>(
  (client) => typeof (client as NodeRedisClient | undefined)?.withTypeMapping === 'function',
  'must be a client of the package redis, version 5 or later; clients of ioredis are taken as they are',
);

/**
 * A client of node-redis (the package `redis`, 5 or 6) for {@link RedisSession} and {@link RedisWorkspace}. Connecting
 * and closing it, and listening to its `error` events, stays with the caller.
 *
 * @throws {InvalidInputError} for anything else, such as a client of an earlier version or one of ioredis.
 */
export function fromNodeRedis(client: NodeRedisClient): RedisClient {
  parseWith(nodeRedisSchema, client, 'fromNodeRedis client');
  const bytes = client.withTypeMapping(AS_BYTES);
  return {
    eval: (source, keyCount, values) => client.eval(source, evaluation(keyCount, values)),
    evalsha: (sha1, keyCount, values) => client.evalSha(sha1, evaluation(keyCount, values)),
    callBuffer: (command, [script, keyCount, ...values]) => {
      const options = evaluation(Number(keyCount), values);
      return command === 'eval'
        ? bytes.eval(String(script), options)
        : bytes.evalSha(String(script), options);
    },
    multi: () => transaction(client.multi()),
  };
}

function evaluation(keyCount: number, values: readonly RedisValue[]): Evaluation {
  return { keys: values.slice(0, keyCount) as string[], arguments: values.slice(keyCount) };
}

function transaction(commands: NodeRedisTransaction): RedisTransaction {
  const chain: RedisTransaction = {
    hmget(key, ...fields) {
      commands.hmGet(key, fields);
      return chain;
    },
    lrange(key, first, last) {
      commands.lRange(key, first, last);
      return chain;
    },
    exec: async () =>
      (await repliesOf(commands)).map((reply) => (reply instanceof Error ? [reply, null] : [null, reply])),
  };
  return chain;
}

/** The replies of all commands, of those that failed the error: node-redis hides them all behind one error. */
async function repliesOf(commands: NodeRedisTransaction): Promise<readonly unknown[]> {
  try {
    return (await commands.exec()) as unknown[];
  } catch (error) {
    if (error instanceof Error && 'replies' in error && Array.isArray(error.replies)) return error.replies;
    throw error;
  }
}
