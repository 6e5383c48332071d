import { InvalidInputError, type Message, SessionConflictError, SessionKey, userMessage } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { randomNumbers } from '../random-numbers.js';
import { everyHead, everyMessage, numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ tenantId: 't', userId: 'u', agentId: 'a', sessionId: 's' });

/** What is stored comes back as it was. */
export function roundTrip(suite: StoreSuite): void {
  describe('round trip', () => {
    suite.test('a missing session is undefined', async (store) => {
      expect(await store.load(key)).toBeUndefined();
    });

    suite.test('every block, field and character comes back, byte for byte', async (store) => {
      const messages = everyMessage();
      await commitAt(store, key, { expectedVersion: 0, head: everyHead, append: messages });
      const stored = await store.load(key);
      expect(stored?.head).toEqual(everyHead);
      expect(stored?.messages).toEqual(messages);
      // The order of fields too: it is part of the prompt, and of what a provider has cached.
      expect(JSON.stringify(stored?.messages)).toBe(JSON.stringify(messages));
    });

    suite.test('a field that is undefined is stored as absent', async (store) => {
      const [message] = numbered(1);
      const append = message === undefined ? [] : [{ ...message, kind: undefined, metadata: undefined }];
      await commitAt(store, key, { expectedVersion: 0, append });
      expect((await store.load(key))?.messages).toEqual([message]);
    });

    suite.test('the head is carried, whatever its schema version', async (store) => {
      for (const [version, schemaVersion] of [0, 1, 99, 'next', null].entries()) {
        const head = { schemaVersion, unknown: [version] };
        await commitAt(store, key, { expectedVersion: version, head });
        expect((await store.load(key))?.head).toEqual(head);
      }
    });

    suite.test('a session may have no messages', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { a: 1 } });
      expect(await store.load(key)).toMatchObject({ version: 1, head: { a: 1 }, messages: [] });
    });

    suite.test('a session has the time of its last commit', async (store) => {
      const before = Date.now();
      await commitAt(store, key, { expectedVersion: 0, append: numbered(1) });
      const updatedAt = (await store.load(key))?.updatedAt ?? '';
      expect(new Date(updatedAt).toISOString()).toBe(updatedAt);
      // A backend's clock may differ from this machine's.
      expect(Math.abs(Date.parse(updatedAt) - before)).toBeLessThan(3_600_000);
    });
  });
}

/** The new list is the first `keep` stored messages, and what is appended. */
export function keepAndAppend(suite: StoreSuite): void {
  describe('keep and append', () => {
    for (const [keep, what] of [
      [0, 'nothing'],
      [1, 'one message'],
      [4, 'some messages'],
      [10, 'all messages'],
    ] as const) {
      for (const added of [0, 3]) {
        suite.test(`keeps ${what} and appends ${added}`, async (store) => {
          await commitAt(store, key, { expectedVersion: 0, head: { n: 1 }, append: numbered(10) });
          await commitAt(store, key, {
            expectedVersion: 1,
            head: { n: 2 },
            keep,
            append: numbered(added, 'n'),
          });
          const stored = await store.load(key);
          expect(stored?.messages).toEqual([...numbered(keep), ...numbered(added, 'n')]);
          expect(stored).toMatchObject({ version: 2, head: { n: 2 } });
        });
      }
    }

    suite.test('appends after the messages that an earlier cut kept', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, append: numbered(10) });
      await commitAt(store, key, { expectedVersion: 1, keep: 5 });
      await commitAt(store, key, { expectedVersion: 2, keep: 5, append: numbered(2, 'n') });
      await commitAt(store, key, { expectedVersion: 3, keep: 6, append: numbered(1, 'o') });
      const expected = [...numbered(5), ...numbered(1, 'n'), ...numbered(1, 'o')];
      expect((await store.load(key))?.messages).toEqual(expected);
    });

    suite.test('a session may contain the same message twice', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, append: numbered(2) });
      await commitAt(store, key, { expectedVersion: 1, keep: 2, append: numbered(2) });
      expect((await store.load(key))?.messages).toEqual([...numbered(2), ...numbered(2)]);
    });

    suite.test('keeping more messages than there are is rejected, and changes nothing', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { n: 1 }, append: numbered(3) });
      const before = await store.load(key);
      for (const expectedVersion of [1, 'latest'] as const) {
        const change = { expectedVersion, head: { n: 2 }, keep: 4, append: numbered(1, 'n') };
        await errorOf(InvalidInputError, commitAt(store, key, change));
      }
      expect(await store.load(key)).toEqual(before);
    });

    suite.test('keeping messages of a missing session is rejected', async (store) => {
      const change = { expectedVersion: 0, head: {}, keep: 1, append: numbered(1) };
      await errorOf(InvalidInputError, commitAt(store, key, change));
      expect(await store.load(key)).toBeUndefined();
    });
  });
}

/** Size is no reason to fail. */
export function volume(suite: StoreSuite): void {
  const { manyMessages = 10_000 } = suite.options;
  describe('volume', () => {
    suite.test('a very large message', async (store) => {
      const piece = 'é漢🦀 "\\\n';
      const text = piece.repeat(Math.ceil(suite.largePayloadBytes / Buffer.byteLength(piece)));
      const message = userMessage(text, { id: 'large' });
      await commitAt(store, key, { expectedVersion: 0, append: [message] });
      await commitAt(store, key, { expectedVersion: 1, keep: 1, append: numbered(1) });
      const stored = await store.load(key);
      // Compared by hand: a report of the difference would be as large as the message.
      expect(JSON.stringify(stored?.messages) === JSON.stringify([message, ...numbered(1)])).toBe(true);
    });

    suite.test('a very long conversation', async (store) => {
      const messages = numbered(manyMessages);
      const batch = Math.ceil(messages.length / 10);
      let version = 0;
      for (let keep = 0; keep < messages.length; keep += batch) {
        const append = messages.slice(keep, keep + batch);
        version = await commitAt(store, key, { expectedVersion: version, keep, append });
      }
      expect((await store.load(key))?.messages).toEqual(messages);

      const keep = Math.floor(messages.length / 2) + 1;
      await commitAt(store, key, { expectedVersion: version, keep, append: numbered(1, 'n') });
      expect((await store.load(key))?.messages).toEqual([...messages.slice(0, keep), ...numbered(1, 'n')]);
    });

    suite.test('a very long conversation in one commit', async (store) => {
      const append = numbered(manyMessages);
      await commitAt(store, key, { expectedVersion: 0, append });
      expect((await store.load(key))?.messages).toEqual(append);
    });
  });
}

const SEEDS = [1, 2, 3];
const STEPS = 60;
const KEYS = ['a', 'b', 'A'].map((userId) => SessionKey.of({ userId, sessionId: 's' }));

interface Modelled {
  readonly version: number;
  readonly head: { readonly step: number };
  readonly messages: readonly Message[];
}

/** Any sequence of changes has the same outcome as on a plain list. */
export function randomChanges(suite: StoreSuite): void {
  describe('random changes', () => {
    for (const seed of SEEDS) {
      suite.test(`random sequence ${seed} has the same result as on an array`, async (store) => {
        const below = randomNumbers(seed);
        const model = new Map<SessionKey, Modelled>();
        for (let step = 0; step < STEPS; step++) {
          const key = KEYS[below(KEYS.length)] as SessionKey;
          const old = model.get(key);
          const { version = 0, messages = [] } = old ?? {};
          switch (below(8)) {
            case 0:
              expect(await store.delete(key)).toBe(model.delete(key));
              break;
            case 1: {
              const stale = { expectedVersion: version + 1, head: { step }, keep: 0, append: [] };
              await errorOf(SessionConflictError, commitAt(store, key, stale));
              break;
            }
            default: {
              // Mostly turns that only add, as in life.
              const keep = below(3) === 0 ? below(messages.length + 1) : messages.length;
              const append = numbered(below(5), `${step}-`);
              const expectedVersion = below(4) === 0 ? 'latest' : version;
              const answer = await commitAt(store, key, { expectedVersion, head: { step }, keep, append });
              expect(answer).toBe(version + 1);
              model.set(key, {
                version: answer,
                head: { step },
                messages: [...messages.slice(0, keep), ...append],
              });
            }
          }
          const stored = await store.load(key);
          expect(stored && { ...stored, token: undefined, updatedAt: undefined }).toEqual(model.get(key));
        }
        expect(await listed(store)).toEqual([...model.keys()].map(String).sort());
      });
    }
  });
}
