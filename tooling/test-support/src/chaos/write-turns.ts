import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  SessionConflictError,
  SessionKey,
  SessionLeaseError,
  type SessionStore,
  SessionStoreError,
  userMessage,
} from '@x/core';
import { operationId, type SessionChange } from '@x/core/store';
import { randomNumbers } from '../../../../packages/testkit/src/random-numbers.js';
import { takeLease } from '../../../../packages/testkit/src/take-lease.js';

/** What one of several processes writes, until there is nothing left to write. */
export interface TurnPlan {
  /** A name that no other process has, nor an earlier one in whose place this one is. */
  readonly writer: string;
  readonly seed: number;
  /** All processes write to the same sessions, `s-0` to the last. */
  readonly sessions: number;
  /** How many turns each session gets; a turn is two messages and one commit. */
  readonly turns: number;
  /**
   * For `checkPausedHolder`: the process loads a session of its own under a lease, stops itself (SIGSTOP), and commits when another
   * lets it go on. It does nothing else.
   */
  readonly isPaused?: boolean | undefined;
}

/** What a process says of a turn: it begins, and was stored (`ok`), was not (`fail`), or nobody knows. */
export interface TurnEvent {
  readonly session: string;
  /** Of the turn's messages: the first is `<id>/question`, the second `<id>/answer`. */
  readonly id: string;
  readonly type: 'begin' | 'ok' | 'fail' | 'unknown';
  /** Milliseconds of a clock that the processes of a machine share. A turn begins before its session is loaded. */
  readonly at: number;
  /** The version that the turn made; where it begins, the version that was loaded. */
  readonly version?: number | undefined;
  /** Where a turn begins: the last turn that was loaded, an empty text where there was none. */
  readonly last?: string | undefined;
  /** The code of the error. */
  readonly code?: string | undefined;
}

type Outcome = Pick<TurnEvent, 'type' | 'version' | 'code'>;

/** A session's last commits are remembered, and found again, as long as no more than these came after it. */
const REMEMBERED = 8;
const ATTEMPTS = 5;
const PAUSE_MS = 20;

/** How a session of a {@link TurnPlan} is named. */
export function turnKey(session: number): SessionKey {
  return SessionKey.of({ userId: `u-${session % 10}`, sessionId: `s-${session}` });
}

/**
 * Adds turns to sessions in random order, beside other processes that do the same, until all have theirs, and tells the parent
 * process of each how it began and ended (see {@link runWriters}). A commit whose outcome is unknown is sent again as it is; so are
 * some that succeeded, after other turns. A conflict, or a store that cannot be reached, is no end: the session is
 * loaded again.
 *
 * @param confirm whether the commit that just succeeded counts; default always. For stores whose commits are confirmed by
 * a further step: what is loaded of them counts for nothing either.
 */
export async function writeTurns(
  store: SessionStore,
  { writer, seed, sessions, turns, isPaused }: TurnPlan,
  confirm?: () => Promise<boolean>,
): Promise<void> {
  // A test that ran out of time leaves nobody who waits for these turns.
  process.once('disconnect', () => process.exit());
  if (isPaused) return writePaused(store, writer);
  const random = randomNumbers(seed);
  const left = Array.from({ length: sessions }, (_, session) => session);
  let earlier: (() => Promise<void>) | undefined;
  for (let count = 0; left.length > 0; count++) {
    const place = random(left.length);
    const key = turnKey(left[place] ?? 0);
    const turn = { session: `${key}`, id: `${writer}-${count}` };
    const at = now();
    try {
      const stored = await store.load(key);
      const version = stored?.version ?? 0;
      if (version >= turns) {
        left.splice(place, 1);
        continue;
      }
      const last = stored?.messages.at(-1)?.id.replace('/answer', '') ?? '';
      void report({ ...turn, type: 'begin', at, ...(!confirm && { version, last }) });
      const change = changeOf(stored, turn.id);
      const outcome = await commit(store, key, change, version);
      const counts = outcome.type !== 'ok' || confirm === undefined || (await confirm());
      // Not waited for: a turn that the parent never hears of is one that nobody was promised.
      void report({ ...turn, at: now(), ...(counts ? outcome : { type: 'unknown' }) });
      if (random(3) === 0) await earlier?.();
      // Stored already: that a repetition wrote nothing says nothing of the turn.
      const again = async () =>
        report({ ...turn, at: now(), ...(await commit(store, key, change, version, true)) });
      earlier = outcome.type === 'ok' && confirm === undefined ? again : undefined;
    } catch (error) {
      if (!SessionStoreError.isInstance(error) || error.code !== 'session_unavailable') throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Loads under a lease, stands still until another process lets it go on, and commits. */
async function writePaused(store: SessionStore, id: string): Promise<void> {
  const key = SessionKey.of(id);
  const lease = await takeLease(store, key);
  const stored = await store.load(key);
  const turn = { session: `${key}`, id };
  await report({ ...turn, type: 'begin', at: now(), version: stored?.version ?? 0 });
  process.kill(process.pid, 'SIGSTOP');
  const change = { ...changeOf(stored, id), fence: lease?.fence };
  await report({ ...turn, at: now(), ...(await commit(store, key, change, stored?.version ?? 0)) });
}

type Stored = Awaited<ReturnType<SessionStore['load']>>;

function changeOf(stored: Stored, id: string): SessionChange {
  const { token, version = 0, messages = [] } = stored ?? {};
  return {
    operation: operationId(),
    expected: token,
    head: { turns: version + 1 },
    keep: messages.length,
    append: ['question', 'answer'].map((part) => userMessage(`${part} ${version}`, { id: `${id}/${part}` })),
  };
}

/** Commits, again while nobody knows whether it was. Only of what was never sent does a failure tell that it is not there. */
async function commit(
  store: SessionStore,
  key: SessionKey,
  change: SessionChange,
  version: number,
  wasSent = false,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    try {
      return { type: 'ok', version: await store.commit(key, change) };
    } catch (error) {
      const { code } = error as { code?: string };
      if (SessionConflictError.isInstance(error)) {
        return { type: error.actualVersion - version < REMEMBERED ? 'fail' : 'unknown', code };
      }
      if (SessionLeaseError.isInstance(error)) return { type: 'fail', code };
      if (!SessionStoreError.isInstance(error) || code !== 'session_unavailable') throw error;
      if (error.outcome === 'none' && !wasSent) return { type: 'fail', code };
      wasSent = true;
      if (attempt === ATTEMPTS) return { type: 'unknown', code };
      await sleep(PAUSE_MS);
    }
  }
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function report(event: TurnEvent): Promise<void> {
  return new Promise((resolve) => process.send?.(event, () => resolve()));
}

const WRITER = 'paused';
const POLL_MS = 20;

/**
 * Stops a process that has the lease of a session, between its load and its commit. Another
 * takes the lease over, but commits nothing yet: what the first commits when it continues must be refused for its lease alone.
 *
 * @param start as of {@link runWriters}.
 * @throws {Error} when the store takes the commit, or refuses it for another reason.
 */
export async function checkPausedHolder(
  store: SessionStore,
  start: (plan: TurnPlan) => ChildProcess,
): Promise<void> {
  const key = SessionKey.of(WRITER);
  const change = { expected: undefined, head: {}, keep: 0, append: [userMessage('Hi')] };
  await store.commit(key, { ...change, operation: operationId() });
  const child = start({ writer: WRITER, seed: 0, sessions: 0, turns: 0, isPaused: true });
  try {
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    const holder = await store.leases?.find(key);
    const lease = await takeLease(store, key, { over: holder?.fence });
    if (holder === undefined || lease === undefined) throw new Error('The paused process has no lease.');
    // Again and again: it may not have stopped yet.
    const waking = setInterval(() => child.kill('SIGCONT'), POLL_MS);
    const said = Promise.race([once(child, 'message'), once(child, 'exit')]);
    const [event] = (await said.finally(() => clearInterval(waking))) as [TurnEvent];
    if (event?.type !== 'fail' || event.code !== 'lease_lost') {
      throw new Error(`The paused process was told ${JSON.stringify(event)}, not that its lease is lost.`);
    }
    const stored = await store.load(key);
    const turn = { operation: operationId(), expected: stored?.token, head: {}, keep: 1, append: [] };
    const version = await store.commit(key, { ...turn, fence: lease.fence });
    if (version !== 2) throw new Error(`The heir's commit made version ${version}, not 2.`);
  } finally {
    child.kill('SIGKILL');
  }
}
