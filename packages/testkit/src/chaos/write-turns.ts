import { setTimeout as sleep } from 'node:timers/promises';
import {
  operationId,
  SessionConflictError,
  SessionKey,
  type SessionStore,
  SessionStoreError,
  userMessage,
} from '@x/core';
import { randomNumbers } from '../random-numbers.js';

/** What one of several processes writes, until there is nothing left to write. */
export interface TurnPlan {
  /** A name that no other process has, nor an earlier one in whose place this one is. */
  readonly writer: string;
  readonly seed: number;
  /** All processes write to the same sessions, `s-0` to the last. */
  readonly sessions: number;
  /** How many turns each session gets; a turn is two messages and one commit. */
  readonly turns: number;
}

/** A turn whose commit succeeded. */
export interface AcknowledgedTurn {
  readonly session: string;
  readonly version: number;
  /** Of the turn's messages: the first is `<id>/question`, the second `<id>/answer`. */
  readonly id: string;
}

/** How a session of a {@link TurnPlan} is named. */
export function turnKey(session: number): SessionKey {
  return SessionKey.of({ userId: `u-${session % 10}`, sessionId: `s-${session}` });
}

/**
 * Adds turns to sessions in random order, beside other processes that do the same, until all have theirs. Every turn whose
 * commit succeeded is told to the parent process (see {@link runWriters}). A conflict, or a store that cannot be reached, is
 * no end: the session is loaded again.
 *
 * @param confirm whether the commit that just succeeded counts; default always. For stores whose commits are confirmed by
 * a further step.
 */
export async function writeTurns(
  store: SessionStore,
  { writer, seed, sessions, turns }: TurnPlan,
  confirm: () => Promise<boolean> = async () => true,
): Promise<void> {
  const random = randomNumbers(seed);
  const left = Array.from({ length: sessions }, (_, session) => session);
  for (let count = 0; left.length > 0; count++) {
    const place = random(left.length);
    const session = left[place] ?? 0;
    const id = `${writer}-${count}`;
    try {
      const version = await addTurn(store, turnKey(session), id, turns);
      if (version === undefined) left.splice(place, 1);
      else if (await confirm()) report({ session: `${turnKey(session)}`, version, id });
    } catch (error) {
      if (SessionConflictError.isInstance(error)) continue;
      if (!SessionStoreError.isInstance(error) || error.code !== 'session_unavailable') throw error;
      await sleep(20);
    }
  }
}

/** The new version; `undefined` when the session has its turns. */
async function addTurn(
  store: SessionStore,
  key: SessionKey,
  id: string,
  turns: number,
): Promise<number | undefined> {
  const stored = await store.load(key);
  const version = stored?.version ?? 0;
  if (version >= turns) return undefined;
  return store.commit(key, {
    operation: operationId(),
    expected: stored?.token,
    head: { turns: version + 1 },
    keep: stored?.messages.length ?? 0,
    append: ['question', 'answer'].map((part) => userMessage(`${part} ${version}`, { id: `${id}/${part}` })),
  });
}

function report(turn: AcknowledgedTurn): void {
  // Not waited for: a turn that the parent never hears of is one that nobody was promised.
  process.send?.(turn);
}
