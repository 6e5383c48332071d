import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { StoredData } from '@x/test-support/suites';
import type { Redis } from 'ioredis';
import { RedisSession } from '../../src/index.js';
import { testClient } from './test-store.js';

/** In a fixture, instead of the prefix of the keys. */
const PREFIX = '<prefix>';

/** What a Redis has stored, as commands in JSON, one a line. */
export function storedInRedis(): StoredData {
  let keyPrefix: string;
  const fresh = () => {
    keyPrefix = `test:${randomUUID()}:`;
    return new RedisSession({ client: testClient(), keyPrefix });
  };
  return {
    fixture: fileURLToPath(new URL('../../fixtures/stored/1/commands.jsonl', import.meta.url)),
    create: fresh,
    dump: () => dumpRedis(testClient(), keyPrefix),
    restore: async (dump) => {
      const store = fresh();
      await restoreRedis(testClient(), keyPrefix, dump);
      return store;
    },
  };
}

const READ = {
  string: ['SET', 'GET'],
  hash: ['HSET', 'HGETALL'],
  list: ['RPUSH', 'LRANGE', '0', '-1'],
  set: ['SADD', 'SMEMBERS'],
  zset: ['ZADD', 'ZRANGE', '0', '-1', 'WITHSCORES'],
} as const;

export async function dumpRedis(client: Redis, keyPrefix: string): Promise<string> {
  const lines: string[] = [];
  for (const key of (await client.keys(`*${keyPrefix}*`)).sort()) {
    const type = (await client.type(key)) as keyof typeof READ;
    const [write, read, ...range] = READ[type];
    const found = [await client.call(read, key, ...range)].flat(2).map(String);
    const pairs = type === 'hash' || type === 'zset' ? inPairs(found).sort() : [];
    const sorted = {
      string: found,
      list: found,
      set: [...found].sort(),
      hash: pairs.flat(),
      // Scores are times, which may be the same or not.
      zset: pairs.flatMap(([member, score]) => [score, member]),
    }[type];
    lines.push(JSON.stringify([write, key, ...sorted]));
    const expiry = await client.pexpiretime(key);
    if (expiry > 0) lines.push(JSON.stringify(['PEXPIREAT', key, `${expiry}`]));
  }
  return `${lines.join('\n').replaceAll(keyPrefix, PREFIX)}\n`;
}

export async function restoreRedis(client: Redis, keyPrefix: string, dump: string): Promise<void> {
  for (const line of dump.trimEnd().replaceAll(PREFIX, keyPrefix).split('\n')) {
    const [command = '', ...values] = JSON.parse(line) as string[];
    await client.call(command, ...values);
  }
}

function inPairs(values: readonly string[]): [string, string][] {
  return Array.from({ length: values.length / 2 }, (_, index) => [
    values[2 * index] ?? '',
    values[2 * index + 1] ?? '',
  ]);
}
