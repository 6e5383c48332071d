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

/** The work of one of several processes that write to the same sessions until every session has all its turns. */
export interface TurnPlan {
  /** A name that is unique among all processes of the run, including those that were killed. */
  readonly writer: string;
  readonly seed: number;
  /** Number of sessions, named `s-0`, `s-1`, …. All processes write to all of them. */
  readonly sessions: number;
  /** Number of turns in each session. A turn is one commit with two messages. */
  readonly turns: number;
  /**
   * For `checkPausedHolder`: the process only takes the lease of its own session, loads the session, stops itself (SIGSTOP), and commits when
   * another process lets it continue.
   */
  readonly isPaused?: boolean | undefined;
}

/** A report of a process about a turn: it began, was stored (`ok`), was not stored (`fail`), or has an unknown outcome. */
export interface TurnEvent {
  readonly session: string;
  /** Id of the turn. Its messages have the ids `<id>/question` and `<id>/answer`. */
  readonly id: string;
  readonly type: 'begin' | 'ok' | 'fail' | 'unknown';
  /** Time in milliseconds, by a clock that all processes of the machine share. A turn begins before its session is loaded. */
  readonly at: number;
  /** For `begin`, the version that was loaded; for `ok`, the version after the commit. */
  readonly version?: number | undefined;
  /** For `begin`, the id of the last turn in the loaded session; empty if there was none. */
  readonly last?: string | undefined;
  /** The code of the error. */
  readonly code?: string | undefined;
}

type Outcome = Pick<TurnEvent, 'type' | 'version' | 'code'>;

/** Number of later commits up to which a store still recognizes a repeated commit. */
const REMEMBERED = 8;
const ATTEMPTS = 5;
const PAUSE_MS = 20;

/** Returns the key of a session of a {@link TurnPlan}. */
export function turnKey(session: number): SessionKey {
  return SessionKey.of({ userId: `u-${session % 10}`, sessionId: `s-${session}` });
}

/**
 * Adds turns to sessions in random order, concurrently with other processes, until all sessions are complete. Reports the beginning and the
 * end of each turn to the parent process (see {@link runWriters}). Repeats a commit whose outcome is unknown, and also some successful
 * commits after later turns. After a conflict, or if the store cannot be reached, loads the session again.
 *
 * @param confirm Resolves with whether the last successful commit counts. Default: it always counts. For stores that need a further step to
 * confirm a commit. With `confirm`, loaded versions are not reported.
 */
export async function writeTurns(
  store: SessionStore,
  { writer, seed, sessions, turns, isPaused }: TurnPlan,
  confirm?: () => Promise<boolean>,
): Promise<void> {
  // If the parent process has ended, for example after a timeout of the test, end this process too.
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
      // Not awaited: if the parent does not receive the report, the turn counts as not acknowledged.
      void report({ ...turn, at: now(), ...(counts ? outcome : { type: 'unknown' }) });
      if (random(3) === 0) await earlier?.();
      // The commit was already sent, so a failure of the repetition does not mean that the turn is missing.
      const again = async () =>
        report({ ...turn, at: now(), ...(await commit(store, key, change, version, true)) });
      earlier = outcome.type === 'ok' && confirm === undefined ? again : undefined;
    } catch (error) {
      if (!SessionStoreError.isInstance(error) || error.code !== 'session_unavailable') throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Takes the lease, loads the session, pauses until another process lets this one continue, and commits. */
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

/**
 * Commits, and repeats the commit while its outcome is unknown. A failure counts as `fail` only if no earlier attempt can have been applied.
 *
 * @param wasSent Whether the commit was sent before.
 */
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
 * Pauses a process that holds the lease of a session between its load and its commit. This process takes over the lease, but does not commit
 * yet. Then the paused process continues. Its commit must be rejected, only because its lease is lost.
 *
 * @param start As in {@link runWriters}.
 * @throws {Error} if the store accepts the commit, or rejects it for another reason.
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
    // Repeat the signal, because the process may not have stopped yet.
    const waking = setInterval(() => child.kill('SIGCONT'), POLL_MS);
    const said = Promise.race([once(child, 'message'), once(child, 'exit')]);
    const [event] = (await said.finally(() => clearInterval(waking))) as [TurnEvent];
    if (event?.type !== 'fail' || event.code !== 'lease_lost') {
      throw new Error(
        `The paused process reported ${JSON.stringify(event)}, not a failure with the code lease_lost.`,
      );
    }
    const stored = await store.load(key);
    const turn = { operation: operationId(), expected: stored?.token, head: {}, keep: 1, append: [] };
    const version = await store.commit(key, { ...turn, fence: lease.fence });
    if (version !== 2) throw new Error(`After the takeover, the commit created version ${version}, not 2.`);
  } finally {
    child.kill('SIGKILL');
  }
}
