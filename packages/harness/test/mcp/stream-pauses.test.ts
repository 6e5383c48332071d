// A server that ends each of its event streams at once has the next one opened after a pause that grows, and none after the end.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { HttpTransport } from '../../src/mcp/http-transport.js';

it('waits longer for each stream that brings nothing, up to a bound', async () => {
  const pauses: number[] = [];
  const wait = (async (ms: number) => void pauses.push(ms)) as typeof setTimeout;
  let enough = () => {};
  const isEnough = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
    const note = pauses.length >= 11 ? '{"jsonrpc":"2.0","method":"notifications/x"}' : '';
    response.end(`retry: 0\nid: 1\ndata:${note}\n\n`);
    if (pauses.length >= 12) enough();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const transport = new HttpTransport(url, {}, wait);
  onTestFinished(async () => {
    await transport.close();
    server.close();
  });
  await transport.start();
  await transport.resumeStream('1');
  await isEnough;
  expect(pauses.slice(0, 12)).toEqual([
    ...[100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000],
    ...[100],
  ]);
});

it('opens no stream after the end of the connection, which ends a pause', async () => {
  let streams = 0;
  const server = createServer(({ method }, response) => {
    if (method === 'GET') streams++;
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
    response.end('retry: 0\nid: 1\ndata:\n\n');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  let paused = (_: AbortSignal | undefined) => {};
  const pause = new Promise<AbortSignal | undefined>((resolve) => {
    paused = resolve;
  });
  let ended = () => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const wait = (async (_ms: number, _value: undefined, { signal }: { signal?: AbortSignal }) => {
    paused(signal);
    await end;
  }) as typeof setTimeout;
  const transport = new HttpTransport(url, {}, wait);
  await transport.start();
  await transport.resumeStream('1');
  const signal = await pause;
  expect(streams).toBe(1);
  await transport.close();
  expect(signal?.aborted).toBe(true);
  ended();
  await new Promise((resolve) => setImmediate(resolve));
  // A request that was made would arrive before this one.
  await fetch(url, { method: 'POST' });
  expect(streams).toBe(1);
});
