// Answers of servers have limits. A stream that no question opened has no end, so only its lines have one.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { boundedFetch } from '../../src/mcp/http-transport.js';

const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';
const MEBIBYTE = 'x'.repeat(2 ** 20);

/** Returns what a client receives of a body. */
async function received(method: string, type: string, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': type }).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return (await boundedFetch(`http://127.0.0.1:${port}`, { method })).text();
}

it.each([
  ['an answer with as many lines as it may have', 'POST', EVENTS, 'data: {}\r\n'.repeat(199_999)],
  ['an answer of another type with more lines', 'POST', JSON_TYPE, ' \n'.repeat(400_000)],
  ['a stream without a question, with more lines', 'GET', EVENTS, ': \n'.repeat(400_000)],
  ['a stream without a question, with more bytes', 'GET', EVENTS, `${MEBIBYTE}\n`.repeat(33)],
])('passes on unchanged: %s', async (_, method, type, body) => {
  expect((await received(method, type, body)) === body).toBe(true);
});

it.each([
  ['lines', 'POST', EVENTS, 'data: {}\n'.repeat(200_001)],
  ['lines that end in a carriage return', 'POST', EVENTS, 'data: {}\r'.repeat(200_001)],
  ['bytes in events', 'POST', EVENTS, `${MEBIBYTE}\n`.repeat(33)],
  ['bytes', 'POST', JSON_TYPE, MEBIBYTE.repeat(33)],
  ['bytes in one line of a stream', 'GET', EVENTS, MEBIBYTE.repeat(33)],
])('fails if a server sends too many %s', async (_, method, type, body) => {
  await expect(received(method, type, body)).rejects.toThrow('An answer has more than');
});
