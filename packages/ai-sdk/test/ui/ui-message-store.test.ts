import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InMemorySession, InvalidInputError } from '@x/core';
import { JsonSession } from '@x/core/node';
import { type SessionChange, wrapStore } from '@x/core/store';
import { convertToModelMessages, streamText, type UIMessage } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { UIMessageStore } from '../../src/index.js';
import { streamOf } from '../support/mock-model.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'x-chats-'));
});
afterEach(() => rm(directory, { recursive: true, maxRetries: 20 }));

const says = (id: string, role: UIMessage['role'], text: string): UIMessage => ({
  id,
  role,
  parts: [{ type: 'text', text }],
});
const chat = (turns: number): UIMessage[] =>
  Array.from({ length: turns }, (_, turn) => [
    says(`u${turn}`, 'user', `Question ${turn}`),
    says(`a${turn}`, 'assistant', `Answer ${turn}`),
  ]).flat();

it('keeps a chat for the next request, in another process', async () => {
  const open = () =>
    new UIMessageStore<UIMessage>({ store: new JsonSession({ directory }), userId: 'alice' });
  expect(await open().load('c')).toEqual([]);
  await open().save('c', chat(2));
  const loaded = await open().load('c');
  expect(loaded).toEqual(chat(2));
  expect(await convertToModelMessages(loaded)).toHaveLength(4);
  expect(await open().delete('c')).toBe(true);
  expect(await open().load('c')).toEqual([]);
});

it('writes what changed: an answer that was added or regenerated, and nothing before it', async () => {
  const changes: Pick<SessionChange, 'keep' | 'append'>[] = [];
  const store = wrapStore(new InMemorySession(), (inner) => ({
    commit: (key, change) => {
      changes.push({ keep: change.keep, append: change.append });
      return inner.commit(key, change);
    },
  }));
  const chats = new UIMessageStore<UIMessage>({ store });
  await chats.save('c', chat(50));
  await chats.save('c', chat(51));
  await chats.save('c', [...chat(50), says('u50', 'user', 'Question 50'), says('b50', 'assistant', 'Anew')]);
  await chats.save('c', chat(50));
  await chats.save('c', chat(50));
  expect(changes.map(({ keep, append }) => [keep, append.length])).toEqual([
    [0, 100],
    [100, 2],
    [101, 1],
    [100, 0],
  ]);
});

it('shows no user another’s chat of the same id', async () => {
  const store = new InMemorySession();
  const alice = new UIMessageStore<UIMessage>({ store, userId: 'alice' });
  await alice.save('c', chat(1));
  for (const other of [{ userId: 'bob' }, {}, { userId: 'alice', tenantId: 'acme' }]) {
    const chats = new UIMessageStore<UIMessage>({ store, ...other });
    expect(await chats.load('c')).toEqual([]);
    expect(await chats.delete('c')).toBe(false);
  }
  expect(await alice.load('c')).toHaveLength(2);
});

it('loses nothing that two append at once', async () => {
  const store = new InMemorySession();
  await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      new UIMessageStore<UIMessage>({ store }).append('c', [says(`m${at}`, 'user', 'Hi')]),
    ),
  );
  expect(new Set((await new UIMessageStore({ store }).load('c')).map(({ id }) => id)).size).toBe(10);
});

it('appends any number of messages at once', async () => {
  const chats = new UIMessageStore<UIMessage>({ store: new JsonSession({ directory }) });
  const ids = Array.from({ length: 60 }, (_, at) => `m${at}`);
  await Promise.all(ids.map((id) => chats.append('c', [says(id, 'user', 'Hi')])));
  expect((await chats.load('c')).map(({ id }) => id)).toEqual(ids);
});

it('keeps every answer that the AI SDK ends without an id', async () => {
  const chats = new UIMessageStore<UIMessage>({ store: new InMemorySession() });
  const ask = async (turn: number) => {
    await chats.append('c', [says(`u${turn}`, 'user', 'Hi')]);
    const model = new MockLanguageModelV3({ doStream: streamOf(`Answer ${turn}`) });
    const onFinish = (end: { responseMessage: UIMessage }) => chats.append('c', [end.responseMessage]);
    for await (const _ of streamText({ model, prompt: 'Hi' }).toUIMessageStream({ onFinish }));
  };
  for (let turn = 0; turn < 3; turn++) await ask(turn);
  const texts = (await chats.load('c')).map(({ parts }) => parts.map((part) => 'text' in part && part.text));
  expect(texts.flat().filter(Boolean)).toEqual(['Hi', 'Answer 0', 'Hi', 'Answer 1', 'Hi', 'Answer 2']);
});

it('replaces a message that is appended again, as by a request that was sent twice', async () => {
  const chats = new UIMessageStore<UIMessage>({ store: new InMemorySession() });
  await chats.append('c', chat(2));
  await chats.append('c', [says('u1', 'user', 'Question 1')]);
  await chats.append('c', [
    says('a0', 'assistant', 'Better'),
    says('u2', 'user', 'x'),
    says('u2', 'user', 'y'),
  ]);
  const [first, , ...rest] = chat(2);
  expect(await chats.load('c')).toEqual([
    first,
    says('a0', 'assistant', 'Better'),
    ...rest,
    says('u2', 'user', 'y'),
  ]);
});

it('refuses what is no UI message, and stores nothing of it', async () => {
  const chats = new UIMessageStore({ store: new InMemorySession() });
  const wrong = chats.save('c', [says('a', 'user', 'Hi'), { role: 'user', content: 'Hi' } as never]);
  await expect(wrong).rejects.toBeInstanceOf(InvalidInputError);
  expect(await chats.load('c')).toEqual([]);
  expect(() => new UIMessageStore({ stor: 1 } as never)).toThrow('stor');
});

it('gives plain values and bytes back as they were, and refuses the rest by its path before it stores anything', async () => {
  const chats = new UIMessageStore<UIMessage>({ store: new InMemorySession() });
  const holding = (value: unknown): UIMessage => ({
    ...says('a0', 'assistant', 'Hi'),
    metadata: { seen: [{ value }] },
  });
  const kept = holding({ bytes: new Uint8Array([0, 255]), '$ai-sdk-ui': 'bytes', none: null });
  await chats.save('c', [kept]);
  expect(await chats.load('c')).toEqual([kept]);
  for (const value of [new Date(0), new Map([['a', 1]]), new Set(['a']), 1n, Number.NaN, [undefined]]) {
    const saved = chats.save('c', [says('u0', 'user', 'x'), holding(value)]);
    await expect(saved).rejects.toThrow(/messages\[1\]\.metadata\.seen\[0\]\.value/);
    await expect(chats.append('c', [holding(value)])).rejects.toBeInstanceOf(InvalidInputError);
  }
  expect(await chats.load('c')).toEqual([kept]);
});
