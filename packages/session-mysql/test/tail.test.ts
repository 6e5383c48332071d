import { type Message, SessionConflictError, SessionKey, SessionLeaseError, userMessage } from '@x/core';
import { operationId, type SessionChange } from '@x/core/store';
import { commitAt, takeLease } from '@x/test-support';
import fc from 'fast-check';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { TAIL_BYTES } from '../src/statements.js';
import { collect, messages, testPool, testStore } from './support/test-store.js';
import { waiting } from './support/waiting.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const sized = (text: string) => userMessage(text, { id: 'm', createdAt: '2026-01-02T03:04:05.678Z' });
const LEAST = Buffer.byteLength(`${JSON.stringify(sized(''))}\n`);

/** A message whose line in a tail has so many bytes, half of them in letters of two bytes. */
function lineOf(bytes: number): Message {
  const letters = (bytes - LEAST) >> 2;
  return sized('é'.repeat(letters) + 'x'.repeat(bytes - LEAST - 2 * letters));
}

/** The number of messages that have a row, and the size of the tail. */
async function placesOf(pool: Pool, table: string): Promise<unknown> {
  const [[row]] = await pool.query<RowDataPacket[]>(
    `SELECT (SELECT COUNT(*) FROM ${table}_messages) AS stored, OCTET_LENGTH(tail) AS tail FROM ${table}`,
  );
  return row;
}

describe('the tail', () => {
  it('gets messages up to its limit; the next commit moves all of them to rows', async () => {
    const { pool, table, store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0 });
    const [half, more] = [lineOf(TAIL_BYTES / 2), lineOf(TAIL_BYTES / 2 + 1)];
    await commitAt(store, key, { expectedVersion: 1, append: [half] });
    await commitAt(store, key, { expectedVersion: 2, keep: 1, append: [half] });
    expect(await placesOf(pool, table)).toEqual({ stored: 0, tail: TAIL_BYTES });
    await commitAt(store, key, { expectedVersion: 3, keep: 2, append: [half] });
    expect(await placesOf(pool, table)).toEqual({ stored: 3, tail: 0 });
    await commitAt(store, key, { expectedVersion: 4, keep: 3, append: [half] });
    await commitAt(store, key, { expectedVersion: 5, keep: 4, append: [more] });
    expect(await placesOf(pool, table)).toEqual({ stored: 5, tail: 0 });
    expect((await store.load(key))?.messages).toEqual([half, half, half, half, more]);
  });

  it('may contain hundreds of messages', async () => {
    const { pool, table, store } = await testStore({ charset: 'latin1' });
    const many = Array.from({ length: TAIL_BYTES / 128 }, () => lineOf(128));
    await commitAt(store, key, { expectedVersion: 0, append: messages(1) });
    await commitAt(store, key, { expectedVersion: 1, keep: 1, append: many });
    expect(await placesOf(pool, table)).toEqual({ stored: 1, tail: TAIL_BYTES });
    await commitAt(store, key, { expectedVersion: 2, keep: many.length, append: messages(1) });
    expect(await placesOf(pool, table)).toEqual({ stored: 1 + many.length, tail: 0 });
    expect((await store.load(key))?.messages.slice(1, -1)).toEqual(many.slice(1));
  });

  it.each([
    ['its first message', `SUBSTRING_INDEX(tail, CHAR(10), -2)`],
    ['its last message', `CONCAT(SUBSTRING_INDEX(tail, CHAR(10), 1), CHAR(10))`],
    ['its last line end', `LEFT(tail, CHAR_LENGTH(tail) - 1)`],
    ['all', `''`],
  ])('that lost %s makes the session corrupt', async (_, damaged) => {
    for (const before of [0, 1]) {
      const { pool, table, store } = await testStore();
      await commitAt(store, key, { expectedVersion: 0, append: messages(before) });
      await commitAt(store, key, { expectedVersion: 1, keep: before, append: messages(2) });
      await pool.query(`UPDATE ${table} SET tail = ${damaged}`);
      for (const options of [{}, { last: 2 }])
        await expect(store.load(key, options)).rejects.toMatchObject({ code: 'session_corrupt' });
    }
  });
});

describe.each(['READ COMMITTED', 'REPEATABLE READ'])('an append with isolation %s', (isolation) => {
  async function twoWriters() {
    const pool = testPool();
    pool.pool.on('connection', (it) => it.query(`SET SESSION TRANSACTION ISOLATION LEVEL ${isolation}`));
    const { table, store: second } = await testStore();
    const first = new MysqlSession({ pool, table });
    await commitAt(first, key, { expectedVersion: 0 });
    const { token } = (await first.load(key)) ?? {};
    const fence = Number((await takeLease(first, key))?.fence);
    const change = { operation: operationId(), expected: token, head: {}, keep: 0, append: messages(1) };
    return { pool, table, first, second, change: { ...change, fence } satisfies SessionChange };
  }

  it('waits for a lease that is being taken, and is then refused', async () => {
    const { pool, table, first, change } = await twoWriters();
    const thief = await pool.getConnection();
    await thief.beginTransaction();
    await thief.query(`UPDATE ${table}_leases SET fence = fence + 1`);
    const late = first.commit(key, change);
    await Promise.race([waiting(pool, table, 1), late.catch(() => {})]);
    await thief.commit();
    thief.release();
    await expect(late).rejects.toBeInstanceOf(SessionLeaseError);
    expect((await first.load(key))?.messages).toEqual([]);
  });

  it('is written before a newer lease is granted', async () => {
    const { pool, table, first, second, change } = await twoWriters();
    const holder = await pool.getConnection();
    await holder.beginTransaction();
    await holder.query(`SELECT * FROM ${table} FOR UPDATE`);
    const commit = first.commit(key, change);
    await waiting(pool, table, 1);
    const next = takeLease(second, key, { over: change.fence }).then(() => second.load(key));
    await Promise.race([waiting(pool, table, 2), next]);
    await holder.rollback();
    holder.release();
    expect(await commit).toBe(2);
    expect(await next).toMatchObject({ version: 2, messages: change.append });
  });

  it('of two writers succeeds for exactly one, and only with the newest lease', async () => {
    const { first, second, change } = await twoWriters();
    for (let { expected, fence, keep } = change; keep < 10; keep++) {
      const over = fence;
      const takenOver = Number((await takeLease(second, key, { over }))?.fence);
      const changeOf = (fence: number) => ({ ...change, operation: operationId(), expected, keep, fence });
      const [good, equal, late] = [changeOf(takenOver), changeOf(takenOver), changeOf(over)];
      const commits = [first.commit(key, late), second.commit(key, good), first.commit(key, equal)];
      const [ofLate, ...others] = await Promise.allSettled(commits);
      expect(ofLate).toMatchObject({ reason: expect.any(SessionLeaseError) });
      expect(others.map((result) => ('value' in result ? result.value : result.reason)).sort()).toEqual([
        keep + 2,
        expect.any(SessionConflictError),
      ]);
      ({ token: expected } = (await first.load(key)) ?? {});
      fence = takenOver;
    }
  });
});

/** An action on a session, with numbers that choose among what is possible. */
const action = fc.record({
  kind: fc.constantFrom('append', 'append', 'append', 'append', 'cut', 'repeat', 'conflict', 'takeOver'),
  sizes: fc.array(
    fc.constantFrom(LEAST, 300, 3_000, TAIL_BYTES / 2, TAIL_BYTES - 300, TAIL_BYTES, TAIL_BYTES + 1),
    {
      maxLength: 3,
    },
  ),
  number: fc.nat(1_000),
});

it('random commits have the same result as on an array', async () => {
  const { table, store: first } = await testStore();
  const stores = [first, new MysqlSession({ pool: testPool(), table })];
  let sessions = 0;
  const sequence = fc.array(action, { minLength: 10, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(sequence, async (actions) => {
      const own = SessionKey.of({ userId: `u-${sessions}`, sessionId: `s-${sessions++}` });
      let stored: readonly Message[] = [];
      let done: readonly SessionChange[] = [];
      let fence: number | undefined;
      for (const [index, { kind, sizes, number }] of actions.entries()) {
        const store = stores[number % 2] as MysqlSession;
        const append = sizes.map(lineOf);
        const expected = done.at(-1)?.operation;
        const all = stored.length;
        const keep = kind === 'cut' ? number % (all + 1) : all;
        const change = { operation: operationId(), expected, head: { index }, keep, append, fence };
        if (kind === 'repeat') {
          const back = 1 + (number % Math.min(8, done.length || 1));
          const earlier = done.at(-back);
          if (earlier) expect(await store.commit(own, earlier)).toBe(done.length + 1 - back);
        } else if (kind === 'conflict') {
          const stale = store.commit(own, { ...change, expected: done.at(-2)?.operation ?? operationId() });
          await expect(stale).rejects.toBeInstanceOf(SessionConflictError);
        } else if (kind === 'takeOver') {
          const late = fence;
          fence = (await takeLease(store, own, { over: fence }))?.fence;
          const refused = store.commit(own, { ...change, fence: late ?? 1 });
          await expect(refused).rejects.toBeInstanceOf(SessionLeaseError);
        } else {
          expect(await store.commit(own, change)).toBe(done.length + 1);
          stored = [...stored.slice(0, keep), ...append];
          done = [...done, change];
        }
        if (done.length === 0) continue;
        const last = number % 5;
        expect((await store.load(own, { last }))?.messages).toEqual(last === 0 ? [] : stored.slice(-last));
        const head = done.at(-1)?.head;
        expect(await store.load(own)).toMatchObject({ version: done.length, messages: stored, head });
      }
      const bytes = stored.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
      const listed = await collect(first.list({ userId: own.parts.userId }));
      expect(listed).toMatchObject(done.length === 0 ? [] : [{ messages: stored.length, bytes }]);
      expect(await first.delete(own)).toBe(done.length > 0);
    }),
    { numRuns: 25 },
  );
});
