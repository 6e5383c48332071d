// What a server sends is read in small pieces, and one message has limits, over every transport.
import { expect, it } from 'vitest';
import { bounded } from '../../src/mcp/bounded.js';
import { connect, run, startHttpServer, stdioServer, toolOf } from './support.js';

const MEBIBYTE = 'x'.repeat(2 ** 20);
const CHUNK = 100_000;

/** Sends a text in chunks, and returns the pieces that arrive. */
async function received(text: string, end: Parameters<typeof bounded>[1]): Promise<readonly string[]> {
  const bytes = Buffer.from(text, 'latin1');
  const pieces: string[] = [];
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
  }
  for await (const piece of bounded(chunks(), end)) pieces.push(Buffer.from(piece).toString('latin1'));
  return pieces;
}

it.each([
  ['lines', 'line', 'line\n'.repeat(2_000)],
  ['an event', 'event', 'data: {}\r\n'.repeat(2_000)],
  ['events', 'event', `data: ${'[],'.repeat(30_000)}\r\n\r\n`.repeat(3)],
  ['more bytes than one message may have', 'line', `${MEBIBYTE}\n`.repeat(5)],
  ['more values than one message may have', 'line', `${'1,'.repeat(70_000)}\n`.repeat(3)],
  ['text with more commas than a message may have values', 'body', `{"a": "${'\\",:[{'.repeat(90_000)}"}`],
] as const)('passes on in small pieces, unchanged: %s', async (_, end, text) => {
  const pieces = await received(text, end);
  expect(pieces.join('') === text).toBe(true);
  for (const piece of pieces) {
    expect(piece.length).toBeLessThanOrEqual(2 ** 16 + 1);
    expect(piece.split('\n').length).toBeLessThanOrEqual(51);
  }
});

it.each([
  ['bytes', 'body', MEBIBYTE.repeat(5)],
  ['bytes', 'line', MEBIBYTE.repeat(5)],
  ['bytes', 'event', `data: ${MEBIBYTE}\n`.repeat(5)],
  ['bytes', 'event', `data: ${MEBIBYTE}\r`.repeat(5)],
  ['values', 'body', `[${'[],'.repeat(41_000)}`],
  ['values', 'line', `{${'"a":1,\r'.repeat(41_000)}`],
  ['values', 'event', 'data: 1,\r\n'.repeat(41_000)],
  ['values', 'line', `"\\"\\\\",${'1,'.repeat(81_000)}`],
] as const)('rejects a message with too many %s, until its %s ends', async (unit, end, text) => {
  await expect(received(text, end)).rejects.toThrow(
    new RegExp(`^A message of the server has more than \\d+ ${unit}\\.$`),
  );
});

it('lets others have their turn while a server sends without end', async () => {
  let turns = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const pieces = await received('{}\n'.repeat(10_000), 'line');
  clearImmediate(timer);
  expect(turns).toBeGreaterThanOrEqual(pieces.length);
});

it.each([
  ['a program', async () => stdioServer],
  ['an HTTP server', async () => ({ url: (await startHttpServer()).url })],
])('fails the call that %s answers with too much, and serves the next', async (_, start) => {
  const capability = await connect({ x: await start() });
  const huge = (chars: number) => run(toolOf(capability, 'mcp__x__huge'), { chars });
  await expect(huge(5 * 2 ** 20)).rejects.toMatchObject({ server: 'x' });
  expect(JSON.stringify(await huge(3 * 2 ** 20))).toContain('more characters were left out');
});

/** A server that sends a line without end once a tool is called, and ignores its signals. */
const flooding = (line: string) => `
  process.on('SIGTERM', () => {});
  const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  const tools = [{ name: 'flood', inputSchema: { type: 'object' } }];
  require('readline').createInterface(process.stdin).on('line', (text) => {
    const { id, method } = JSON.parse(text);
    const info = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'f', version: '1' } };
    if (method === 'initialize') answer(id, info);
    if (method === 'tools/list') answer(id, { tools });
    const flood = () => { while (process.stdout.write(${JSON.stringify(`${line}
`)}.repeat(100))); process.stdout.once('drain', flood); };
    if (method === 'tools/call') flood();
  });`;

it.each([
  ['notifications', '{"jsonrpc":"2.0","method":"notifications/x"}'],
  ['requests', '{"jsonrpc":"2.0","id":"a","method":"ping"}'],
  ['answers that nobody asked for', '{"jsonrpc":"2.0","id":-1,"result":{}}'],
  ['lines that are no messages', '{}'],
  ['empty lines', ''],
])('ends the connection to a server that sends %s without end', async (_, line) => {
  const server = { command: process.execPath, args: ['-e', flooding(line)] };
  const capability = await connect({ x: server }, { callTimeoutMs: 0, maxCallMs: 0 });
  await expect(run(toolOf(capability, 'mcp__x__flood'), {})).rejects.toMatchObject({ code: 'mcp_lost' });
});

it('ends the connection to a server that asks without reading the answers', async () => {
  const program = `
    const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    const tools = [{ name: 'flood', inputSchema: { type: 'object' } }];
    const info = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'f', version: '1' } };
    const lines = require('readline').createInterface(process.stdin).on('line', (text) => {
      const { id, method } = JSON.parse(text);
      if (method === 'initialize') answer(id, info);
      if (method === 'tools/list') answer(id, { tools });
      if (method !== 'tools/call') return;
      lines.pause();
      for (let at = 0; at < 8; at++)
        console.log(JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(3 * 2 ** 20) + at, method: 'ping' }));
      setInterval(() => {}, 1_000);
    });`;
  const server = { command: process.execPath, args: ['-e', program] };
  const capability = await connect({ x: server }, { callTimeoutMs: 0, maxCallMs: 0 });
  await expect(run(toolOf(capability, 'mcp__x__flood'), {})).rejects.toMatchObject({ code: 'mcp_lost' });
});
