import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { checkMessages } from '../../src/messages/check-messages.js';
import {
  assistantMessage,
  type Message,
  toolResultMessage,
  userMessage,
} from '../../src/messages/message.js';
import { messageSchema } from '../../src/messages/message-schemas.js';

const CALL = { id: 'call-1', name: 'look' };
const USUAL: readonly Message[] = [
  userMessage('Hello'),
  assistantMessage([
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', ...CALL, input: { at: 1 } },
  ]),
  toolResultMessage(CALL, [{ type: 'text', text: 'found' }]),
];
const BLOCK = { type: 'tool_use', id: 'call-2', name: 'look', input: 2 };
const VALUES = [undefined, null, '', 'other', 1, true, {}, [], [null], [{ type: 'text' }], [BLOCK], [[]]];

/** Every copy of a value in which one part, at any depth, is another value. */
function* altered(value: unknown): Generator<unknown> {
  yield* VALUES;
  if (typeof value !== 'object' || value === null) return;
  for (const key of [...Object.keys(value), 'kind', 'metadata', 'providerMetadata']) {
    for (const part of altered((value as Record<string, unknown>)[key])) {
      const copy: object = Array.isArray(value) ? [...value] : { ...value };
      Object.assign(copy, { [key]: part });
      yield copy;
    }
  }
}

test.each(USUAL)(
  'takes of all that a $role message may become what the schema takes, and no more',
  (usual) => {
    expect(() => checkMessages([usual], 'list')).not.toThrow();
    const taken = [...altered(usual)].map((message) => {
      const isTaken = messageSchema.safeParse(message).success;
      const check = () => checkMessages([message], 'list');
      if (isTaken) expect(check, JSON.stringify(message)).not.toThrow();
      else expect(check, JSON.stringify(message)).toThrow('list');
      return isTaken;
    });
    expect(new Set(taken)).toEqual(new Set([true, false]));
  },
);

const realm = runInNewContext('({ a: [1] })') as unknown;

test.each<[string, unknown, string | undefined]>([
  ['a map', new Map([['a', 1]]), 'is not a plain object but a Map, which JSON cannot represent'],
  ['bytes', new Uint8Array(2), 'is not a plain object but a Uint8Array, which JSON cannot represent'],
  ['a boxed text', new String('x'), 'is not a plain object but a String, which JSON cannot represent'],
  ['an instance', new (class Order {})(), 'is not a plain object but a Order, which JSON cannot represent'],
  [
    'an inherited getter',
    Object.create({
      get a() {
        return 1;
      },
    }),
    'is not a plain object but a Object, which JSON cannot represent',
  ],
  ['a date', new Date(0), 'is an object with toJSON; pass the result of toJSON()'],
  ['no prototype', Object.assign(Object.create(null), { a: 1 }), undefined],
  ['a plain object of another realm', realm, undefined],
])('takes plain data alone: %s', (_, value, fault) => {
  for (const [path, input] of [
    ['', value],
    ['.list[1]', { list: [1, value] }],
  ] as const) {
    const message = assistantMessage([{ type: 'tool_use', ...CALL, input: input as never }]);
    const check = () => checkMessages([message], 'list');
    if (fault === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(`[0].content[0].input${path}: ${fault}`);
  }
});

test('names a message that cannot be read', () => {
  const message = {
    ...userMessage('Hi'),
    get content() {
      throw new Error('gone');
    },
  };
  expect(() => checkMessages([message], 'list')).toThrow('[0]: cannot be read: gone');
});
