import { randomBytes } from 'node:crypto';
import { type Message, type SessionInfo, userMessage } from '@x/core';
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise';
import { inject, onTestFinished } from 'vitest';
import { MysqlSession } from '../../src/index.js';

/** A pool that ends with the test. */
export function testPool(options: PoolOptions = {}): Pool {
  const pool = createPool({ uri: inject('mysqlUrl'), ...options });
  onTestFinished(() => pool.end());
  return pool;
}

/** A store with tables of its own. */
export async function testStore(options: PoolOptions = {}) {
  const pool = testPool(options);
  const table = uniqueTable();
  const store = new MysqlSession({ pool, table });
  await store.createTables();
  return { pool, table, store };
}

export function uniqueTable(): string {
  return `t_${randomBytes(8).toString('hex')}`;
}

/** Messages that differ in id and text. */
export function messages(count: number, text = 'message'): [Message, Message, ...Message[]] {
  return Array.from({ length: count }, (_, index) => userMessage(`${text} ${index}`)) as never;
}

export async function collect(infos: AsyncIterable<SessionInfo>): Promise<SessionInfo[]> {
  const all: SessionInfo[] = [];
  for await (const info of infos) all.push(info);
  return all;
}
