import { SessionConflictError, SessionKey, type SessionStore, SessionStoreError } from '@x/core';
import { operationId, type StoredSession } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import { eventually, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const first = { expectedVersion: 0, head: { n: 1 }, keep: 0, append: numbered(2) };
const second = { expectedVersion: 1, head: { n: 2 }, keep: 2, append: numbered(1, 'n') };

/** A connection that breaks, and a process that dies, leave the session before the commit or the one after. */
export function faults(suite: StoreSuite): void {
  const { faults: connection, crashes } = suite.options;
  if (connection !== undefined) {
    describe('faults', () => {
      for (const when of ['before', 'during', 'after'] as const) {
        suite.test(`a cut ${when} a commit: all of it is stored, or nothing`, async (store) => {
          await commitAt(store, key, first);
          await connection.cut(when);
          const failure = await commitAt(store, key, second).then(() => undefined, toError);
          if (failure !== undefined)
            expect(failure).toSatisfy((error) => SessionStoreError.isInstance(error));
          const stored = await eventuallyLoaded(store);
          expect(stored).toSatisfy(isBeforeOrAfter);
          if (failure === undefined) expect(stored.version).toBe(2);
          await assertRepeatable(store);
        });

        suite.test(`a cut ${when} a commit: the commit can be repeated`, async (store) => {
          await commitAt(store, key, first);
          const { token: expected } = (await store.load(key)) ?? {};
          const change = {
            operation: operationId(),
            expected,
            head: { n: 2 },
            keep: 2,
            append: second.append,
          };
          await connection.cut(when);
          const failure = await store.commit(key, change).then(() => undefined, toError);
          if (failure !== undefined) expect(failure).toMatchObject({ outcome: 'unknown' });
          expect(await eventually(() => store.commit(key, change).catch(() => undefined))).toBe(2);
          expect(await store.load(key)).toSatisfy(isBeforeOrAfter);
        });

        suite.test(`a cut ${when} a load: the result is never an empty session`, async (store) => {
          await commitAt(store, key, first);
          await connection.cut(when);
          const answer = await store.load(key).catch(toError);
          if (answer instanceof Error)
            expect(answer).toSatisfy((error) => SessionStoreError.isInstance(error));
          else expect(answer).toMatchObject({ version: 1, messages: first.append });
          await assertRepeatable(store);
        });
      }
    });
  }
  if (crashes === undefined) return;
  describe('crashes', () => {
    for (const point of crashes.points) {
      suite.test(`a process that dies ${point} leaves the old session or the new one`, async (store) => {
        await commitAt(store, key, first);
        const { token: expected } = (await store.load(key)) ?? {};
        const { head, keep, append } = second;
        await crashes.commit(point, key, { operation: operationId(), expected, head, keep, append });
        expect(await store.load(key)).toSatisfy(isBeforeOrAfter);
        await assertRepeatable(store);
        expect(await store.delete(key)).toBe(true);
        expect(await store.load(key)).toBeUndefined();
      });
    }
  });
}

function isBeforeOrAfter(stored: StoredSession | undefined): boolean {
  const { version, head, messages } = stored ?? {};
  const isOne = (expected: StoredSession['messages'], n: number) =>
    version === n && head?.n === n && JSON.stringify(messages) === JSON.stringify(expected);
  return isOne(first.append, 1) || isOne([...first.append, ...second.append], 2);
}

/** The same commit again succeeds, or has happened: either way it is there once. */
async function assertRepeatable(store: SessionStore): Promise<void> {
  const failure = await commitAt(store, key, second).then(() => undefined, toError);
  if (failure !== undefined) expect(failure).toSatisfy((error) => SessionConflictError.isInstance(error));
  expect(await store.load(key)).toMatchObject({
    version: 2,
    head: { n: 2 },
    messages: [...first.append, ...second.append],
  });
}

/** A cut connection may need a moment. */
function eventuallyLoaded(store: SessionStore): Promise<StoredSession> {
  return eventually(async () => {
    try {
      const stored = await store.load(key);
      if (stored !== undefined) return stored;
    } catch (error) {
      if (SessionStoreError.isInstance(error)) return undefined;
      throw error;
    }
    throw new Error('The session was taken for an absent one.');
  });
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
