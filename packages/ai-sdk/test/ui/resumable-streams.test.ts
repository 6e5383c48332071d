import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InMemorySession } from '@x/core';
import { JsonSession } from '@x/core/node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ResumableStreams } from '../../src/index.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'x-streams-'));
});
afterEach(() => rm(directory, { recursive: true, maxRetries: 20 }));

/** A stream whose parts the test gives. */
function given() {
  let controller: ReadableStreamDefaultController<{ at: number }> | undefined;
  const stream = new ReadableStream<{ at: number }>({
    start(of) {
      controller = of;
    },
  });
  return {
    stream,
    tell: (from: number, to: number) => {
      for (let at = from; at < to; at++) controller?.enqueue({ at });
    },
    end: () => controller?.close(),
    fail: (error: Error) => controller?.error(error),
  };
}
async function collect(stream: ReadableStream<unknown> | undefined): Promise<number[]> {
  const found: number[] = [];
  if (stream === undefined) return found;
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    found.push((next.value as { at: number }).at);
  }
  return found;
}
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

it('gives a reader who comes back all of the answer, or the rest from a cursor, in another process', async () => {
  const open = () =>
    new ResumableStreams({ store: new JsonSession({ directory }), userId: 'alice', pollMs: 5 });
  expect(await open().resume('c')).toBeUndefined();
  const source = given();
  const passed = await open().record('c', source.stream);
  source.tell(0, 5);
  const reader = passed.getReader();
  expect((await reader.read()).value).toEqual({ at: 0 });
  // The page is reloaded: whoever left does not end the answer.
  await reader.cancel();
  const whole = collect(await open().resume('c'));
  const rest = collect(await open().resume('c', 3));
  source.tell(5, 400);
  source.end();
  expect(await whole).toEqual(numbers(0, 400));
  expect(await rest).toEqual(numbers(3, 400));
  await expect.poll(() => open().resume('c')).toBeUndefined();
});

it('passes every part on, also when the store fails', async () => {
  const store = new InMemorySession();
  const streams = new ResumableStreams({ store });
  const source = given();
  const passed = await streams.record('c', source.stream);
  store.commit = () => Promise.reject(new Error('down'));
  source.tell(0, 50);
  source.end();
  expect(await collect(passed)).toEqual(numbers(0, 50));
});

it('ends the readers of an answer when the next one begins, and mixes nothing', async () => {
  const store = new InMemorySession();
  const open = () => new ResumableStreams({ store, pollMs: 5 });
  const [first, second] = [given(), given()];
  await open().record('c', first.stream);
  first.tell(0, 3);
  const old = await open().resume('c');
  const reading = collect(old);
  await open().record('c', second.stream);
  first.tell(3, 6);
  first.end();
  second.tell(100, 103);
  second.end();
  for (const at of await reading) expect(at).toBeLessThan(6);
  await expect.poll(() => open().resume('c')).toBeUndefined();
  const again = given();
  await open().record('c', again.stream);
  again.tell(200, 203);
  const third = collect(await open().resume('c'));
  again.end();
  expect(await third).toEqual([200, 201, 202]);
});

it('ends with an error when the writer has died, and shows nobody another’s answer', async () => {
  const store = new InMemorySession();
  const open = (userId: string) => new ResumableStreams({ store, userId, pollMs: 1, stallMs: 20 });
  // A process that died: begun, and no sign of life since.
  const dead = new ResumableStreams({ store, userId: 'alice', stallMs: 1_000_000 });
  const source = given();
  await dead.record('c', source.stream);
  expect(await open('bob').resume('c')).toBeUndefined();
  const reader = (await open('alice').resume<{ type: string }>('c'))?.getReader();
  expect((await reader?.read())?.value).toEqual({ type: 'error', errorText: 'The answer broke off.' });
  expect((await reader?.read())?.done).toBe(true);
  source.end();
});

it('tells who came back that the source failed, and not why', async () => {
  const streams = new ResumableStreams({ store: new InMemorySession(), pollMs: 1 });
  const source = given();
  const passed = await streams.record('c', source.stream);
  const reader = (await streams.resume('c'))?.getReader();
  source.fail(new Error('key sk-123 is wrong'));
  await expect(collect(passed)).rejects.toThrow('sk-123');
  expect((await reader?.read())?.value).toEqual({ type: 'error', errorText: 'The answer broke off.' });
  expect((await reader?.read())?.done).toBe(true);
});

it.each([0, 2, 9])(
  'leaves no call running where the answer broke off, read from cursor %i',
  async (cursor) => {
    const streams = new ResumableStreams({ store: new InMemorySession(), pollMs: 1 });
    const toolName = 'look';
    const input = {};
    const chunks = [
      { type: 'start' },
      { type: 'tool-input-available', toolCallId: 'open', toolName, input, dynamic: true },
      { type: 'tool-output-available', toolCallId: 'open', output: 1, preliminary: true, dynamic: true },
      { type: 'tool-input-available', toolCallId: 'done', toolName, input, dynamic: true },
      { type: 'tool-output-available', toolCallId: 'done', output: 1, dynamic: true },
      { type: 'tool-input-available', toolCallId: 'asked', toolName, input, dynamic: true },
      { type: 'tool-approval-request', toolCallId: 'asked', approvalId: 'a' },
      { type: 'tool-input-start', toolCallId: 'begun', toolName },
      { type: 'tool-input-delta', toolCallId: 'begun', inputTextDelta: '{' },
    ];
    let at = 0;
    let fail = () => {};
    const source = new ReadableStream<unknown>({
      pull: (controller) => {
        if (at < chunks.length) return controller.enqueue(chunks[at++]);
        return new Promise<void>((resolve) => {
          fail = () => resolve(controller.error(new Error('The process died.')));
        });
      },
    });
    const passed = await streams.record('c', source);
    await expect.poll(() => at).toBe(chunks.length);
    const resumed = await streams.resume<unknown>('c', cursor);
    fail();
    const errorText = 'No result: the answer broke off.';
    const found: unknown[] = [];
    for await (const chunk of resumed ?? []) found.push(chunk);
    expect(found).toEqual([
      ...chunks.slice(cursor),
      { type: 'tool-output-error', toolCallId: 'open', errorText, dynamic: true },
      { type: 'tool-output-error', toolCallId: 'begun', errorText },
      { type: 'error', errorText: 'The answer broke off.' },
    ]);
    await expect(collect(passed)).rejects.toThrow('The process died.');
  },
);

it('passes on chunks that are no objects', async () => {
  const streams = new ResumableStreams({ store: new InMemorySession(), pollMs: 1 });
  const chunks = [null, 'text', 1, [2]];
  const source = new ReadableStream<unknown>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
    },
  });
  await streams.record('c', source);
  const resumed = await streams.resume<unknown>('c');
  const found: unknown[] = [];
  for await (const chunk of resumed ?? []) if (found.push(chunk) === chunks.length) break;
  expect(found).toEqual(chunks);
});

it('is over for everybody once one reader has read the end', async () => {
  const store = new InMemorySession();
  const streams = new ResumableStreams({ store });
  for (let answer = 0; answer < 20; answer++) {
    const source = given();
    const passed = await streams.record('c', source.stream);
    source.tell(0, 3);
    source.end();
    await collect(passed);
    expect(await streams.resume('c')).toBeUndefined();
  }
});
