import { once } from 'node:events';
import { rmdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { claimPort } from '../../services/claim-port.js';

const { numbers } = vi.hoisted(() => ({ numbers: [] as number[] }));
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  return {
    ...crypto,
    randomInt: (from: number, to: number) => numbers.shift() ?? crypto.randomInt(from, to),
  };
});

afterEach(() => {
  numbers.length = 0;
});

test('a port that is claimed is nobody else’s until its directory is gone', async () => {
  const first = await claimPort();
  numbers.push(first.port);
  const second = await claimPort();
  expect(second.port).not.toBe(first.port);
  await rmdir(first.directory);
  numbers.push(first.port);
  expect(await claimPort()).toEqual(first);
  for (const { directory } of [first, second]) await rmdir(directory);
});

test.each([0, 10_000])('a port is not claimed where somebody listens %i above it', async (above) => {
  const { port, directory } = await claimPort();
  await rmdir(directory);
  const server = createServer().listen(port + above, '127.0.0.1');
  await once(server, 'listening');
  numbers.push(port);
  const other = await claimPort();
  expect(other.port).not.toBe(port);
  await rmdir(other.directory);
  server.close();
});
