import {
  assistantMessage,
  ContextOverflowError,
  type Message,
  textOf,
  userMessage,
  type Workspace,
} from '@x/core';
import { describe, expect, it, vi } from 'vitest';
import type { EvictionConfig } from '../../src/eviction/tool-result-eviction.js';
import { toolResultEviction } from '../../src/index.js';
import { at, meter, round } from '../build.js';
import { modelOf, said } from '../models.js';
import { memoryLog, scopeOf } from '../scope.js';

const files = new Map<string, string>();
const workspace = {
  reach: 'process',
  async write(path: string, data: string) {
    files.set(path, data);
  },
} as unknown as Workspace;

async function reason(messages: readonly Message[], config: EvictionConfig = {}, more = {}) {
  const scope = scopeOf(messages, { storage: workspace, ...more });
  const capability = toolResultEviction(config);
  await capability.aroundReason?.(scope, async () => said('done'));
  return { scope, again: () => capability.aroundReason?.(scope, async () => said('done')) };
}

const image = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AA' } } as const;
const long = `HEAD${'🦊 '.repeat(80_000)}TAIL`;

describe('toolResultEviction of user messages', () => {
  it('leaves head, tail, a pointer and other blocks; file and log have all of it', async () => {
    const message = userMessage([{ type: 'text', text: long }, image]);
    const { scope } = await reason([userMessage('short'), message]);
    const evicted = at(scope.state.context, 1);
    expect(evicted).toMatchObject({ id: message.id, role: 'user', createdAt: message.createdAt });
    expect(evicted.content[1]).toBe(image);
    const [event] = scope.events;
    if (event?.type !== 'message.evicted') throw new Error('there is no event');
    expect(event).toMatchObject({ messageId: message.id, chars: long.length });
    expect(files.get(event.path)).toBe(long);
    expect(scope.log.messages).toEqual([message]);
    const text = textOf(evicted);
    expect(text).toContain(event.path);
    expect(text).toContain('HEAD🦊');
    expect(text.endsWith('TAIL')).toBe(true);
    expect(text.length).toBeLessThan(4_400);
    expect(() => encodeURIComponent(text)).not.toThrow();
  });

  it('does it once, also in another process', async () => {
    const { scope, again } = await reason([userMessage(long)]);
    const context = [...scope.state.context];
    await again();
    expect(scope.state.context).toEqual(context);
    const elsewhere = await reason(context);
    expect(elsewhere.scope.state.context[0]).toBe(context[0]);
    expect(scope.events).toHaveLength(1);
  });

  it('leaves messages of exactly the limit, summaries and injected messages; 0 switches it off', async () => {
    const messages = [
      userMessage('x'.repeat(200_000)),
      userMessage(long, { kind: 'summary' }),
      userMessage(long, { kind: 'synthetic' }),
      assistantMessage('ok'),
    ];
    expect((await reason(messages)).scope.state.context).toEqual(messages);
    const whole = [userMessage(long)];
    expect((await reason(whole, { maxUserChars: 0 })).scope.state.context).toEqual(whole);
  });

  it('leaves the message whole when it cannot be logged or written, and warns', async () => {
    const log = { ...memoryLog(), append: () => Promise.reject(new Error('log is full')) };
    const broken = { write: () => Promise.reject(new Error('disk is full')) } as unknown as Workspace;
    for (const [more, why] of [
      [{ log }, 'log is full'],
      [{ storage: broken }, 'disk is full'],
    ] as const) {
      const message = userMessage(long);
      const { scope } = await reason([message], {}, more);
      expect(scope.state.context[0]).toBe(message);
      expect(scope.events).toMatchObject([{ type: 'warning', message: expect.stringContaining(why) }]);
    }
  });

  it.each([
    [16_000, 60_000],
    [32_000, 134_000],
    [48_000, 199_000],
    [32_000, 224_000],
  ])('takes a paste that does not fit a window of %i: %i characters', async (contextWindow, length) => {
    const paste = 'a word or two, '.repeat(length / 15);
    const model = modelOf(() => 'unused', { contextWindow });
    const before = [userMessage('hi'), assistantMessage('hello')];
    const { scope } = await reason([...before, userMessage(paste)], {}, { model });
    expect(meter.messages(scope.state.context)).toBeLessThan(contextWindow / 2);
    expect(scope.events.filter(({ type }) => type === 'message.evicted')).toHaveLength(1);
    expect([...files.values()]).toContain(paste);
  });

  it('takes the largest of several new messages that do not fit together, and results beside them', async () => {
    const model = modelOf(() => 'unused', { contextWindow: 16_000 });
    const short = userMessage('Compare these.');
    const pastes = ['one', 'two', 'three'].map((word) => userMessage(`${word} `.repeat(6_000)));
    const { scope } = await reason([short, ...pastes], {}, { model });
    expect(meter.messages(scope.state.context)).toBeLessThanOrEqual(14_400);
    expect(scope.state.context[0]).toBe(short);
    const mixed = [...round({ output: 'row '.repeat(8_000) }), userMessage('and this '.repeat(5_000))];
    const beside = await reason(mixed, {}, { model });
    expect(meter.messages(beside.scope.state.context)).toBeLessThanOrEqual(14_400);
  });

  it.each([
    'prompt is too long: 22000 tokens > 16000 maximum',
    'The input exceeds the context window of this model.',
  ])('takes a paste after the provider has rejected it: %s', async (message) => {
    const paste = userMessage('a word or two, '.repeat(5_500));
    const scope = scopeOf([userMessage('hi'), assistantMessage('hello'), paste], { storage: workspace });
    const sent: number[] = [];
    const answer = await toolResultEviction().aroundReason?.(scope, async () => {
      sent.push(meter.messages(scope.state.context));
      if (sent.length === 1) throw new ContextOverflowError(message);
      return said('done');
    });
    expect(answer).toEqual(said('done'));
    expect(sent).toEqual([expect.any(Number), expect.any(Number)]);
    expect(sent[1]).toBeLessThan(4_000);
    expect(scope.log.messages).toEqual([paste]);
  });

  it('passes on an overflow that no new text causes', async () => {
    const error = new ContextOverflowError('prompt is too long: 22000 tokens > 16000 maximum');
    const scope = scopeOf([userMessage(long), assistantMessage('hello'), userMessage('hi')], {
      storage: workspace,
    });
    const next = vi.fn(async () => Promise.reject(error));
    const capability = toolResultEviction({ maxUserChars: 1_000_000 });
    await expect(capability.aroundReason?.(scope, next)).rejects.toBe(error);
    expect(next).toHaveBeenCalledTimes(1);
  });

  it('leaves a long message that fits', async () => {
    const model = modelOf(() => 'unused', { contextWindow: 16_000 });
    const message = userMessage('word '.repeat(8_000));
    expect((await reason([message], {}, { model })).scope.state.context).toEqual([message]);
  });
});
