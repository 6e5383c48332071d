import * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { InvalidInputError } from '../../errors/invalid-input-error.js';
import { SessionConflictError, SessionLeaseError, SessionStoreError } from '../../errors/session-errors.js';
import type { JsonObject } from '../../lib/json.js';
import type { Message } from '../../messages/message.js';
import { ItemLog } from '../item-log.js';
import { besideOf, keyBeside, SessionKey } from '../session-key.js';
import type { SessionStore, StoredSession } from '../session-store.js';
import { checkChange, operationOf } from '../store-rules.js';
import { wrapStore } from './wrap-store.js';

const NAME = 'history';
const optionsSchema = z.strictObject({ versions: z.int().min(1).default(100) });

/** A store that knows what its sessions were; see {@link keepHistory}. */
export interface SessionHistory extends SessionStore {
  /** The states that a session has had, the present one first, as far as they are kept. */
  history(key: SessionKey): AsyncGenerator<StoredSession, void, undefined>;
}

/** What is kept of a commit: its head, and how to come from its messages to those before it. */
interface Step {
  readonly operation: string;
  readonly expected: string | null;
  readonly version: number;
  readonly at: string;
  readonly head: JsonObject;
  readonly keep: number;
}

/** A message that a commit took away: an item each, as backends bound the size of one. */
interface Removed {
  readonly operation: string;
  readonly place: number;
  readonly message: Message;
}

const isStep = ({ role }: Message) => role === 'system';

interface Known {
  readonly log: ItemLog;
  /** Number of steps in the log. */
  steps: number;
  /** The session as it was last seen here. */
  token?: string | undefined;
  version?: number;
  count?: number;
}

/**
 * Keeps the earlier states of the sessions of any store: of each commit the head, and the messages that it took away, as a
 * compaction does. They lie beside the session in the same store, see {@link keyBeside}. A commit
 * costs one more small one. What is committed beside it, to the bare store, ends what can be read back.
 *
 * @param options `versions`: how many states of a session are kept at least; default 100.
 * @example
 * ```ts
 * const store = keepHistory(new InMemorySession());
 * const key = SessionKey.of('s-001');
 * for await (const state of store.history(key)) {
 *   if (state.version === 2) await forkSession(store, state, SessionKey.of('s-002'));
 * }
 * ```
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export function keepHistory(
  store: SessionStore,
  options: { readonly versions?: number | undefined } = {},
): SessionHistory {
  const { versions } = parseWith(optionsSchema, options, 'keepHistory options');
  const sessions = new WeakMap<SessionKey, Known>();
  const knownOf = (key: SessionKey): Known => {
    const known = sessions.get(key) ?? { log: new ItemLog(store, historyOf(key), NAME), steps: 0 };
    sessions.set(key, known);
    return known;
  };
  const load: SessionStore['load'] = async (key, load) => {
    const stored = await store.load(key, load);
    if (load?.last === undefined) {
      const { token, version = 0, messages = [] } = stored ?? {};
      Object.assign(knownOf(key), { token, version, count: messages.length });
    }
    return stored;
  };
  const trim = async (known: Known, operation: string): Promise<void> => {
    await known.log.change(({ messages }) => {
      const append = leadingTo(operation, versions, messages, known.log);
      known.steps = append.filter(isStep).length;
      return append.length < messages.length ? { keep: 0, append } : undefined;
    });
  };
  /** What a refused commit would have led to: nothing stays of it, also where its session was erased meanwhile. */
  const takeBack = async (key: SessionKey, { log }: Known, operation: string): Promise<void> => {
    await log.change(({ messages }) => {
      const append = messages.filter((message) => operationIn(log, message) !== operation);
      return append.length < messages.length ? { keep: 0, append } : undefined;
    });
    const beside = historyOf(key);
    const left = await store.load(beside);
    if (left?.messages.length === 0) await store.delete(beside, { token: left.token });
  };
  const wrapped = wrapStore(store, {
    load,
    async commit(key, change) {
      // What lies beside a session has no earlier states: a copy brings it along.
      if (besideOf(key)) return store.commit(key, change);
      checkChange(change);
      const { operation, expected, head, keep, append } = change;
      const known = knownOf(key);
      // Whoever only adds is spared the look at what is there.
      const isAdding = known.token === expected && known.count === keep;
      const stored = isAdding ? undefined : await load(key);
      const removed = stored?.messages.slice(keep) ?? [];
      let isNoted = false;
      // What comes too late, or again, is the store's to judge.
      if (isAdding || stored?.token === expected) {
        const at = new Date().toISOString();
        const version = (known.version ?? 0) + 1;
        const step: Step = { operation, expected: expected ?? null, version, at, head, keep };
        const { log } = known;
        const items = removed.map((message, place): Removed => ({ operation, place, message }));
        const entries = items.map((item) => log.message(item as unknown as JsonObject, 'user'));
        await log.append((loaded) => {
          const steps = loaded && stepsOf(loaded.messages, log);
          known.steps = (steps?.size ?? known.steps) + 1;
          isNoted = !steps?.has(operation);
          if (!isNoted) return [];
          return [...entries, log.message(step as unknown as JsonObject, 'system')];
        });
      }
      // Who was refused looks at what is there before the next step.
      known.count = -1;
      let version: number;
      try {
        version = await store.commit(key, change);
      } catch (error) {
        if (isNoted && isRefusal(error)) await takeBack(key, known, operation).catch(() => {});
        throw error;
      }
      Object.assign(known, { token: operation, version, count: keep + append.length });
      // Now that it is committed; should it fail, the next commit does it.
      if (known.steps > 2 * versions) await trim(known, operation).catch(() => {});
      return version;
    },
    async delete(key, options) {
      const existed = await store.delete(key, options);
      if (existed || options?.token === undefined) await store.delete(historyOf(key));
      return existed;
    },
  });
  async function* history(key: SessionKey): AsyncGenerator<StoredSession, void, undefined> {
    let state = await load(key);
    const { log } = knownOf(key);
    const { messages } = await log.read();
    const steps = stepsOf(messages, log);
    const removed = new Map<string, Message[]>();
    for (const message of messages) {
      const item = log.item(message) as unknown as Removed;
      const own = removed.get(item.operation) ?? [];
      removed.set(item.operation, own);
      // Sent again, it has the same place.
      if (!isStep(message)) own[item.place] = item.message;
    }
    while (state !== undefined) {
      yield state;
      const { token, messages: later } = state as StoredSession;
      const { expected, keep = 0 } = steps.get(token) ?? {};
      const earlier = steps.get(expected ?? '');
      state = earlier && {
        token: earlier.operation,
        version: earlier.version,
        head: earlier.head,
        messages: [...later.slice(0, keep), ...(removed.get(token) ?? [])],
        updatedAt: earlier.at,
      };
    }
  }
  return { ...wrapped, history };
}

function stepsOf(messages: readonly Message[], log: ItemLog): ReadonlyMap<string | null, Step> {
  const steps = messages.filter(isStep).map((message) => log.item(message) as unknown as Step);
  return new Map(steps.map((step) => [step.operation, step]));
}

/** Whether an error says that nothing was written. */
function isRefusal(error: unknown): boolean {
  if (SessionStoreError.isInstance(error)) return error.outcome === 'none';
  return (
    SessionConflictError.isInstance(error) ||
    SessionLeaseError.isInstance(error) ||
    InvalidInputError.isInstance(error)
  );
}

/** The commit to which an item belongs. */
function operationIn(log: ItemLog, message: Message): string {
  return (log.item(message) as unknown as Step).operation;
}

/**
 * What leads to the last so many states up to a commit, or may yet lead on from there: not the steps before them, nor those
 * of writers who came too late.
 */
function leadingTo(
  operation: string,
  versions: number,
  messages: readonly Message[],
  log: ItemLog,
): readonly Message[] {
  const steps = stepsOf(messages, log);
  const line = new Set<string | null>();
  for (let step = steps.get(operation); step !== undefined; step = steps.get(step.expected)) {
    line.add(step.operation);
  }
  const oldest = [...line].slice(0, versions).at(-1);
  const kept = messages.slice(messages.findIndex((message) => operationIn(log, message) === oldest));
  return kept.filter((message) => {
    const { operation: own, expected = null } = steps.get(operationIn(log, message)) ?? {};
    return own === undefined || line.has(own) || expected === operation || !line.has(expected);
  });
}

/**
 * Begins a session with the state of another one, such as an earlier one that `history` yields, and answers its version. To do it
 * again, as after an error, is to do it once.
 *
 * @throws {SessionConflictError} when there is another session of that key, or this one has gone on for long.
 */
export function forkSession(
  store: SessionStore,
  { head, messages }: Pick<StoredSession, 'head' | 'messages'>,
  to: SessionKey,
): Promise<number> {
  const { sessionId, userId, tenantId } = to.parts;
  const { userId: _, tenantId: __, ...rest } = head;
  const own = { ...rest, sessionId, ...(userId && { userId }), ...(tenantId && { tenantId }) };
  const operation = operationOf(JSON.stringify([`${to}`, own, messages]));
  return store.commit(to, { operation, expected: undefined, keep: 0, head: own, append: messages });
}

/** What the encoded key of a history has where that of its session has `/`: for stores that look for the one of the other. */
export const HISTORY_IN_KEYS = historyOf(SessionKey.of({ sessionId: '-' }))
  .toString()
  .slice(2, -1);

/** The session that keeps the earlier states of another. */
export function historyOf(key: SessionKey): SessionKey {
  return keyBeside(key, NAME);
}
