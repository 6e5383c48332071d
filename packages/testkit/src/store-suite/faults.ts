import { SessionKey, SessionStoreError } from '@x/core';
import { operationId, type StoredSession } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import { eventually, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const first = { expectedVersion: 0, head: { n: 1 }, append: numbered(2) };
const second = { head: { n: 2 }, keep: 2, append: numbered(1, 'n') };

/** Tests that a broken connection leaves either the session before the commit or the one after it. */
export function faults(suite: StoreSuite): void {
  const { faults: connection } = suite.options;
  if (connection === undefined) return;
  describe('faults', () => {
    for (const when of ['before', 'during', 'after'] as const) {
      suite.test(
        `a cut ${when} a commit: all of it is stored, or nothing, and it can be repeated`,
        async (store) => {
          await commitAt(store, key, first);
          const { token: expected } = (await store.load(key)) ?? {};
          const change = { operation: operationId(), expected, ...second };
          await connection.cut(when);
          const failure = await store.commit(key, change).then(() => undefined, toError);
          if (failure !== undefined) expect(failure).toMatchObject({ outcome: 'unknown' });
          // Reconnecting may take a moment.
          const stored = await eventually(async () => ({ found: await store.load(key) }), isStoreError);
          expect(isBefore(stored.found) || isAfter(stored.found)).toBe(true);
          if (failure === undefined) expect(stored.found).toSatisfy(isAfter);
          expect(await eventually(() => store.commit(key, change), isStoreError)).toBe(2);
          expect(await store.load(key)).toSatisfy(isAfter);
        },
      );

      suite.test(`a cut ${when} a load: the result is never an empty session`, async (store) => {
        await commitAt(store, key, first);
        await connection.cut(when);
        const answer = await store.load(key).catch(toError);
        expect(answer).toSatisfy((each) => isStoreError(each) || isBefore(each));
        expect(await eventually(() => store.load(key), isStoreError)).toSatisfy(isBefore);
      });
    }
  });
}

const isBefore = (stored: unknown) => isAt(stored, 1, first.append);
const isAfter = (stored: unknown) => isAt(stored, 2, [...first.append, ...second.append]);
const isStoreError = (error: unknown) => SessionStoreError.isInstance(error);

function isAt(stored: unknown, n: number, expected: StoredSession['messages']): boolean {
  const { version, head, messages } = (stored ?? {}) as Partial<StoredSession>;
  return version === n && head?.n === n && JSON.stringify(messages) === JSON.stringify(expected);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
