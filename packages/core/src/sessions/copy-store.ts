import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { SessionConflictError } from '../errors/session-errors.js';
import { collectionOf, type RecordPlace, recordSets } from './collections.js';
import { deleteUnlessLeased, isSessionHeld } from './held-sessions.js';
import { SessionKey, scopeSchema } from './session-key.js';
import type { SessionStore } from './session-store.js';
import { operationId } from './store-rules.js';

const optionsSchema = z.strictObject({
  /** Only sessions of this tenant, user or agent. Default: all. */
  scope: scopeSchema.optional(),
  /** Only sessions whose last commit is older, for example to move inactive sessions to a cheaper store. */
  updatedBefore: z.date().optional(),
  /** Deletes each session from the source after copying it. */
  move: z.boolean().default(false),
});

/** Options of `copyStore`. */
export type CopyOptions = Readonly<z.input<typeof optionsSchema>>;

/** The result of `copyStore`. */
export interface CopyReport {
  /** Number of copied sessions and records of collections. */
  readonly copied: number;
  /** Number of sessions that an earlier call had copied. */
  readonly unchanged: number;
  /** Sessions that were not copied, because the target has other sessions with their keys. */
  readonly conflicts: readonly RecordPlace[];
  /** Sessions that were not moved, because they are leased, or because both stores are the same. */
  readonly busy: readonly RecordPlace[];
}

/**
 * Copies sessions and collections from any store to any other. Each session keeps its token, so you can repeat an interrupted copy. A move
 * skips leased sessions, and all sessions if both stores are the same. Nothing in the target is overwritten. Does not copy logs, which are in
 * workspaces. Copies have new times of creation and change, and new version numbers.
 *
 * @example
 * ```ts
 * const { copied, busy } = await copyStore(redis, postgres, { updatedBefore, move: true });
 * ```
 * @throws {InvalidInputError} for invalid options.
 * @throws {CapabilityError} when `from` has collections and `to` does not support them. Nothing was copied.
 * @throws {SessionStoreError} when a store cannot be reached or a session cannot be read. Sessions that were copied before stay copied.
 */
export async function copyStore(
  from: SessionStore,
  to: SessionStore,
  options: CopyOptions = {},
): Promise<CopyReport> {
  const { scope, updatedBefore, move } = parseWith(optionsSchema, options, 'copyStore options');
  let copied = 0;
  let unchanged = 0;
  const conflicts: RecordPlace[] = [];
  const busy: RecordPlace[] = [];
  let damage: { readonly error: unknown } | undefined;
  const sets = (await recordSets(from)).map(({ collection, records }) => {
    return { collection, records, target: collection === undefined ? to : collectionOf(to, collection) };
  });
  for (const { collection, records, target } of sets) {
    const keys: SessionKey[] = [];
    try {
      for await (const { key } of records.list(scope, { updatedBefore })) keys.push(key);
    } catch (error) {
      // A store lists all readable sessions before it throws.
      damage = { error };
    }
    // Copy the newest last, so that the target lists sessions in the same order.
    for (const key of keys.reverse()) {
      const isBusy = move && (from === to || (await isSessionHeld(records, key)));
      const outcome = isBusy ? undefined : await copySession(records, target, key, move);
      if (outcome === undefined) busy.push({ key, collection });
      else if (outcome === 'conflict') conflicts.push({ key, collection });
      else if (outcome === 'copied') copied++;
      else if (outcome === 'unchanged') unchanged++;
    }
  }
  if (damage !== undefined) throw damage.error;
  return { copied, unchanged, conflicts, busy };
}

/** @returns `undefined` if a move leaves the session in place: both stores are the same, or the session has been leased. */
async function copySession(
  from: SessionStore,
  to: SessionStore,
  key: SessionKey,
  move: boolean,
): Promise<'gone' | 'copied' | 'unchanged' | 'conflict' | undefined> {
  let outcome: 'gone' | 'copied' | 'unchanged' = 'gone';
  let seen: string | undefined;
  for (let expected: string | undefined; ; ) {
    const stored = await from.load(key);
    if (stored === undefined || stored.token === seen) return outcome;
    const { token, head, messages } = stored;
    const isThere = (await to.load(key, { last: 0 }))?.token === token;
    if (isThere && move && (await isOneStore(from, to, key))) return undefined;
    if (isThere && outcome === 'gone') outcome = 'unchanged';
    try {
      if (!isThere) {
        await to.commit(key, { operation: token, expected, head, keep: 0, append: messages });
        outcome = 'copied';
      }
    } catch (error) {
      if (SessionConflictError.isInstance(error)) return 'conflict';
      throw error;
    }
    if (!move) return outcome;
    const deletion = await deleteUnlessLeased(from, key, { token });
    if (deletion === 'deleted') return outcome;
    if (deletion === 'busy') {
      // Remove the copy, because the running turn will change the session. A later call copies it.
      if (outcome === 'copied') await to.delete(key, { token });
      return undefined;
    }
    // Another writer committed without a lease, so copy the session again.
    expected = token;
    seen = token;
  }
}

/**
 * Tests if both stores are the same, by writing a trial record to one and reading it from the other. The record is a child of the
 * session, so that it is erased with the session if this process dies in between.
 */
async function isOneStore(from: SessionStore, to: SessionStore, { parts }: SessionKey): Promise<boolean> {
  const { agentId = '', sessionId } = parts;
  const operation = operationId();
  const trial = SessionKey.of({
    ...parts,
    agentId: `${agentId}/move`,
    sessionId: `${sessionId}/${operation}`,
  });
  await to.commit(trial, { operation, expected: undefined, head: {}, keep: 0, append: [] });
  try {
    return (await from.load(trial, { last: 0 })) !== undefined;
  } finally {
    await to.delete(trial);
  }
}
