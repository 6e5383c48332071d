import { randomUUID } from 'node:crypto';
import { type Message, userMessage } from '@x/core';
import { Redis } from 'ioredis';
import { inject, onTestFinished } from 'vitest';
import { RedisSession, type RedisSessionOptions } from '../../src/index.js';

/** A client that ends with the test. */
export function testClient(url = inject('redisUrl')): Redis {
  const client = new Redis(url);
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

/** A store with keys of its own. */
export function testStore(options: Partial<RedisSessionOptions> = {}) {
  const client = testClient();
  const keyPrefix = `test:${randomUUID()}:`;
  const store = new RedisSession({ client, keyPrefix, ...options });
  return { client, keyPrefix, store };
}

/** Messages that differ in id and text. */
export function messages(count: number, text = 'message'): [Message, Message, ...Message[]] {
  return Array.from({ length: count }, (_, index) => userMessage(`${text} ${index}`)) as never;
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
