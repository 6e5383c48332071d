import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { expect, inject, test } from 'vitest';

test('Redis answers where it is said to be', async () => {
  const client = new Redis(inject('redisUrl'));
  await client.set('greeting', 'hello');
  expect(await client.get('greeting')).toBe('hello');
  await client.quit();
});

test('MariaDB answers where it is said to be, with a database of its own', async () => {
  const connection = await createConnection(inject('mysqlUrl'));
  const [rows] = await connection.query('SELECT DATABASE() AS name');
  expect(rows).toEqual([{ name: 'test' }]);
  await connection.end();
});

test('PostgreSQL answers where it is said to be', async () => {
  const client = new Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  expect((await client.query('SELECT current_database() AS name')).rows).toEqual([{ name: 'postgres' }]);
  await client.end();
});

test('Chromium runs', async () => {
  const { stdout } = await promisify(execFile)(inject('chromiumPath'), ['--version', '--no-sandbox']);
  expect(stdout).toMatch(/\b\d+\.\d+/);
});
