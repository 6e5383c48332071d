import type { AgentInputItem } from '@openai/agents';
import { InMemorySession, InvalidInputError, SessionKey } from '@x/core';
import { expect, it } from 'vitest';
import { AgentsSession } from '../src/index.js';
import { user } from './fake-model.js';

const SECRET = 'sk-secret-of-mine';
const open = () => new AgentsSession({ store: new InMemorySession(), key: SessionKey.of('s-001') });
const holding = (value: unknown): AgentInputItem =>
  ({ ...(user('Hi') as object), providerData: { nested: [{ value }] } }) as never;
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const holes = [1, 2, 3];
delete holes[1];
const circle: Record<string, unknown> = {};
circle.self = circle;

const refused: readonly (readonly [string, unknown])[] = [
  ['a date', new Date(0)],
  ['a URL', new URL('https://example.com/')],
  ['a map', new Map([[SECRET, 1]])],
  ['a set', new Set([SECRET])],
  ['an array buffer', new ArrayBuffer(4)],
  ['wide numbers', new Uint16Array([300])],
  ['an object of a class', new Error(SECRET)],
  ['an array with holes', holes],
  ['an array with properties', Object.assign([1], { [SECRET]: 1 })],
  ['a property that is not enumerable', Object.defineProperty({}, 'hidden', { value: SECRET })],
  [
    'a getter',
    {
      get computed() {
        return SECRET;
      },
    },
  ],
  ['a symbol', Symbol(SECRET)],
  ['a property named by a symbol', { [Symbol(SECRET)]: 1 }],
  ['a function', () => SECRET],
  ['a bigint', 1n],
  ['no number', Number.NaN],
  ['itself', circle],
];

it.each(refused)('refuses %s before anything is stored, and quotes nothing of it', async (_, value) => {
  const session = open();
  await session.addItems([user('Before')]);
  for (const error of [
    await failure(session.addItems([user('Fine'), holding(value)])),
    await failure(session.replaceHistoryWithCompaction([holding(value)])),
    await failure(
      session.applyHistoryTransaction({
        operationId: 'op-1',
        transaction: { type: 'append_items', items: [holding(value)] },
      }),
    ),
  ]) {
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(String(error)).toContain('providerData.nested[0].value');
    expect(String(error)).not.toContain(SECRET);
  }
  expect(await session.getItems()).toEqual([user('Before')]);
});

it('keeps plain objects, those of other realms and without a prototype, and bytes', async () => {
  const session = open();
  const bare = Object.assign(Object.create(null) as object, { a: [null, true, 1.5, 'x'] });
  const bytes = new Uint8Array([0, 1, 255]);
  await session.addItems([holding(bare), holding(structuredClone({ b: 1 })), holding(bytes)]);
  expect(await session.getItems()).toEqual([holding({ ...bare }), holding({ b: 1 }), holding(bytes)]);
});

it.each([
  ['another type', { type: 'truncate', items: [] }],
  ['an unknown field', { type: 'append_items', items: [], atomically: true }],
  ['a missing field', { type: 'replace_suffix', replacement: [] }],
  ['items that are no list', { type: 'append_items', items: 'all' }],
])('refuses a transaction of %s', async (_, transaction) => {
  const error = await failure(
    open().applyHistoryTransaction({ operationId: 'op-1', transaction: transaction as never }),
  );
  expect(error).toBeInstanceOf(InvalidInputError);
});
