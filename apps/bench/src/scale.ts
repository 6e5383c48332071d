import { SessionKey, type SessionStore } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { operationId } from '@x/core/store';
import { someHead, someMessages, someTurn } from './sessions-conversation.js';
import { type MeasuredStore, storeKinds, withStore } from './sessions-stores.js';
import { median, quantile, round, timed } from './statistics.js';

/** Messages per session, one entry per decile. Most sessions are short, and the longest contain most of the data. */
const LENGTHS: readonly number[] = [2, 2, 4, 4, 6, 8, 12, 20, 40, 120];
const SESSIONS_A_USER = 20;
/** Number of sessions that are filled concurrently, and of writers that run during a measurement. */
const WRITERS = 4;
const SAMPLES = 100;
const PAGE = 50;
const TARGET = 10_000_000;

/** Fills every store, and measures bytes, first pages, and commits during concurrent writes. */
export async function benchScale({
  sessions = '10000',
}: {
  readonly sessions?: string | undefined;
}): Promise<void> {
  const count = Number(sessions);
  if (!Number.isInteger(count) || count < 100) {
    throw new RangeError('--sessions must be a whole number from 100 on.');
  }
  console.log(
    `${count} sessions, ${SESSIONS_A_USER} a user, of ${LENGTHS.join(', ')} messages of 1.5 KB (ms; median, 95 %)`,
  );
  const rows: Record<string, object> = {};
  for (const [name, kind] of Object.entries(storeKinds)) {
    if (count > (kind.mostSessions ?? count)) continue;
    await withStore(kind, async (measured) => {
      rows[name] = await measure(measured, count);
      console.log(name, JSON.stringify(rows[name]));
    });
  }
  console.table(rows);
}

async function measure({ store, held }: MeasuredStore, count: number): Promise<object> {
  const before = await held();
  let filled = 0;
  const filling = await timed(() =>
    beside(async () => {
      while (filled < count) await fill(store, filled++);
    }),
  );
  const each = ((await held()) - before) / count;
  const page = (userId?: string) => async () => {
    for await (const _ of store.list(userId === undefined ? {} : { userId }, { limit: PAGE }));
  };
  const first = await sampled(page(), 20);
  const ofUser = await sampled(page('u-0'), 20);
  let isDone = false;
  const load = beside(async (writer) => {
    for (let turn = writer; !isDone; turn += WRITERS) await addTurn(store, turn % count);
  });
  const commits = await sampled((sample) => addTurn(store, (sample * 7919 + 1) % count), SAMPLES);
  const leased = await sampled((sample) => addLeasedTurn(store, (sample * 104_729 + 2) % count), SAMPLES);
  isDone = true;
  await load;
  return {
    'filled a second': Math.round((1000 * count) / filling),
    'KB a session': round(each / 1024, 1),
    [`GB at ${TARGET / 1e6} million`]: Math.round((each * TARGET) / 1024 ** 3),
    'first page': first,
    'page of a user': ofUser,
    commit: commits,
    'commit with a lease': leased,
  };
}

function keyOf(session: number): SessionKey {
  return SessionKey.of({
    userId: `u-${Math.floor(session / SESSIONS_A_USER)}`,
    agentId: 'coder',
    sessionId: `s-${session}`,
  });
}

async function fill(store: SessionStore, session: number): Promise<void> {
  const append = someMessages(LENGTHS[session % LENGTHS.length] ?? 2);
  const change = { operation: operationId(), expected: undefined, head: someHead, keep: 0, append };
  await store.commit(keyOf(session), change);
}

/** Continues a session like a process that has not loaded it yet. */
async function addTurn(store: SessionStore, session: number, fence?: number): Promise<void> {
  for (;;) {
    const stored = await store.load(keyOf(session));
    if (stored === undefined) throw new Error(`Session ${session} does not exist.`);
    const { token, messages } = stored;
    const change = {
      operation: operationId(),
      expected: token,
      head: someHead,
      keep: messages.length,
      append: someTurn(),
    };
    try {
      await store.commit(keyOf(session), { ...change, fence });
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'session_conflict') throw error;
    }
  }
}

async function addLeasedTurn(store: SessionStore, session: number): Promise<void> {
  const turn = await takeTurn(store, keyOf(session), { turns: 'reject' });
  await addTurn(store, session, turn.fence);
  await turn.release();
}

async function beside(work: (writer: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => work(writer)));
}

async function sampled(work: (sample: number) => Promise<void>, samples: number): Promise<string> {
  const times: number[] = [];
  for (let sample = 0; sample < samples; sample++) times.push(await timed(() => work(sample)));
  return medianAnd95(times);
}

/** Formats median and 95th percentile, in milliseconds. */
function medianAnd95(times: readonly number[]): string {
  return `${round(median(times), 1)}, ${round(quantile(times, 0.95), 1)}`;
}
