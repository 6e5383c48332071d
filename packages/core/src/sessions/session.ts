import * as z from 'zod';
import { AGENT_STATE_VERSION, AgentState, checkFields, fieldTexts, headText } from '../agent/agent-state.js';
import { parseWith } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import { SessionConflictError, SessionStoreError } from '../errors/session-errors.js';
import { XError } from '../errors/x-error.js';
import type { JsonObject } from '../lib/json.js';
import { KeyedMutex } from '../lib/keyed-mutex.js';
import { checkMessages, readMessages } from '../messages/check-messages.js';
import { commonPrefix, type Message, textOf } from '../messages/message.js';
import { adoptHead, mergeContext, mergeHead } from './merge.js';
import { checkKey, type SessionKey } from './session-key.js';
import type { SessionChange, SessionStore, StoredSession } from './session-store.js';
import { checkFormat, operationId, vouchForChange } from './store-rules.js';

/** Maximum length of a title. */
const TITLE_LENGTH = 80;
/** Maximum number of merges with other writers' commits in one commit. */
const MAX_MERGES = 5;
/**
 * Maximum number of immediate retries of a commit whose reply was lost. After that, the next commit retries it or finds that it was not
 * written.
 */
const MAX_RESENDS = 1;

/** A loaded or new session. It stores only its changes. */
export interface Session {
  readonly key: SessionKey;
  readonly state: AgentState;
  /** The version last loaded or committed; 0 when the session is not stored yet. */
  readonly version: number;
  /**
   * Stores the changes since the last commit and returns the version. Writes nothing if nothing changed. With `onConflict: 'merge'`, the
   * state may then also contain changes of other writers.
   *
   * @param options `onConflict`: for this commit only. Use `fail` for data that only one writer may store.
   * @throws {InvalidInputError} with the path of the invalid message or field of the state; nothing was written.
   * @throws {SessionConflictError} when another writer committed in between; nothing was written. When merging: after five
   * merges in one commit, or if the session was deleted.
   * @throws {SessionLeaseError} `lease_lost` when another process has taken the session's lease.
   */
  commit(options?: { readonly onConflict?: 'fail' | undefined }): Promise<number>;
}

/** Options of `openSession`. */
export interface OpenSessionOptions {
  /**
   * Behavior after another writer's commit. `fail` (default): the commit fails. `merge`: the commit reloads the session and merges the
   * changes, so that the messages of both writers are kept.
   */
  readonly onConflict?: 'fail' | 'merge' | undefined;
  /** The fence of the lease under which this session is written; see {@link SessionStore.leases}. */
  readonly fence?: number | undefined;
  /**
   * Returns the messages added since the last commit. Set it for `merge` if a compaction may remove a message before it is stored. Without
   * it, such a message is only in the log if the other writer compacted too.
   */
  readonly added?: (() => readonly Message[]) | undefined;
  /** Called after the changes of another writer were merged into the state. */
  readonly merged?: (() => void) | undefined;
}

const isFunction = (value: unknown) => typeof value === 'function';
const optionsSchema: z.ZodType<OpenSessionOptions> = z.strictObject({
  onConflict: z.enum(['fail', 'merge']).optional(),
  fence: z.number().optional(),
  added: z.custom<NonNullable<OpenSessionOptions['added']>>(isFunction, 'must be a function').optional(),
  merged: z.custom<NonNullable<OpenSessionOptions['merged']>>(isFunction, 'must be a function').optional(),
});

/**
 * Loads a session. If it does not exist, begins a new one, which the first commit creates.
 *
 * @example
 * ```ts
 * const session = await openSession(store, SessionKey.of({ userId: 'alice', sessionId: 's-001' }));
 * session.state.contextMutable().push(userMessage('Hello'));
 * await session.commit();
 * ```
 * @throws {SessionStoreError} when the store cannot be read, or the stored state is invalid. A read failure never starts a new
 * session.
 * @throws {InvalidInputError} when `key` is not a `SessionKey`.
 */
export async function openSession(
  store: SessionStore,
  key: SessionKey,
  options: OpenSessionOptions = {},
): Promise<Session> {
  const checked = parseWith(optionsSchema, options, 'openSession options');
  const stored = await store.load(checkKey(key, 'openSession arguments'));
  // A custom store may not validate its messages.
  const readable = stored && { ...stored, messages: readMessages(stored.messages, `session ${key}`) };
  return new StoredBackedSession(store, key, checked, readable);
}

class StoredBackedSession implements Session {
  readonly key: SessionKey;
  readonly state: AgentState;
  readonly #store: SessionStore;
  readonly #options: OpenSessionOptions;
  /** The messages in the store, compared by identity. */
  #stored: Message[];
  #storedHead: string;
  /** The texts of the fields of the head that were last validated. */
  #checked: ReadonlyMap<string, string> | undefined;
  /** The head of the state when it last equaled the stored head. */
  #ancestorHead: JsonObject;
  #version: number;
  /** Token of the stored session; `undefined` for a new session. */
  #token: string | undefined;
  /** A commit that was sent and may have been applied. It is resolved before any other commit: by a retry, or by finding it unwritten. */
  #pending: SessionChange | undefined;
  /** Runs commits one after the other, because parallel ones would conflict. */
  readonly #commits = new KeyedMutex();

  constructor(
    store: SessionStore,
    key: SessionKey,
    options: OpenSessionOptions,
    stored: StoredSession | undefined,
  ) {
    this.#store = store;
    this.key = key;
    this.#options = options;
    this.state = stored === undefined ? AgentState.create(identityOf(key)) : readState(key, stored);
    this.#version = stored?.version ?? 0;
    this.#token = stored?.token;
    this.#stored = [...(stored?.messages ?? [])];
    this.#storedHead = stored === undefined ? '' : JSON.stringify(stored.head);
    this.#ancestorHead = this.state.head();
  }

  get version(): number {
    return this.#version;
  }

  commit({ onConflict = this.#options.onConflict }: OpenSessionOptions = {}): Promise<number> {
    const merges = onConflict === 'merge' ? MAX_MERGES : 0;
    return this.#commits.run(this.key.toString(), () => this.#commitMerging(merges));
  }

  async #commitMerging(merges: number): Promise<number> {
    const earlier = this.#pending;
    const lost: unknown[] = [];
    for (let merged = 0; ; ) {
      try {
        return await this.#commit();
      } catch (error) {
        if (isUnknown(error) && lost.push(error) <= MAX_RESENDS) continue;
        if (this.#pending !== undefined) {
          // A commit that fails permanently, such as one that is too large, must not block later commits.
          if (this.#pending !== earlier || !(await this.#isUnwritten())) throw lost[0] ?? error;
          this.#pending = undefined;
          lost.length = 0;
          continue;
        }
        if (!SessionConflictError.isInstance(error) || merged++ >= merges) throw error;
        const stored = await this.#store.load(this.key);
        // A merge must not restore a session that was deleted.
        if (stored === undefined) throw error;
        this.#rebase(stored);
        this.#options.merged?.();
      }
    }
  }

  async #commit(): Promise<number> {
    if (this.#pending !== undefined) await this.#send(this.#pending);
    const { context } = this.state;
    const keep = commonPrefix(this.#stored, context);
    const append = context.slice(keep);
    this.state.title ??= titleOf(append);
    const texts = fieldTexts(this.state);
    const text = headText(texts);
    const unchanged = append.length === 0 && keep === this.#stored.length && text === this.#storedHead;
    if (unchanged && this.#version > 0) return this.#version;
    const head = JSON.parse(text) as JsonObject;
    if (text !== this.#storedHead) checkFields(head, texts, this.#checked);
    this.#checked = texts;
    checkMessages(append, 'AgentState', 'context');

    const { fence } = this.#options;
    const change = { operation: operationId(), expected: this.#token, head, keep, append };
    return this.#send(vouchForChange(fence === undefined ? change : { ...change, fence }), text);
  }

  /** Tests if the store still has the session as it was before the pending commit. */
  async #isUnwritten(): Promise<boolean> {
    const stored = await this.#store.load(this.key, { last: 0 }).catch(() => ({ token: '' }));
    return stored?.token === this.#token;
  }

  async #send(change: SessionChange, text = JSON.stringify(change.head)): Promise<number> {
    // A rejected retry does not show whether the first attempt was applied, because only its reply may have been lost.
    const isInDoubt = this.#pending === change;
    this.#pending = change;
    try {
      this.#version = await this.#store.commit(this.key, change);
    } catch (error) {
      if (!isUnknown(error) && !(isInDoubt && SessionStoreError.isInstance(error))) this.#pending = undefined;
      throw error;
    }
    const { operation, keep, append, head } = change;
    this.#pending = undefined;
    this.#token = operation;
    this.#stored.length = keep;
    for (const message of append) this.#stored.push(message);
    this.#storedHead = text;
    this.#ancestorHead = head;
    return this.#version;
  }

  /** Rebases the changes of this session onto `stored`. Synchronous, so that no change is added in between. */
  #rebase(stored: StoredSession): void {
    const theirs = readState(this.key, stored).head();
    const head = mergeHead(this.#ancestorHead, this.state.head(), theirs);
    const context = mergeContext({
      ancestor: this.#stored,
      ours: this.state.context,
      stored: stored.messages,
      added: this.#options.added?.(),
    });
    adoptHead(this.state, AgentState.fromParts(head, []));
    const live = this.state.contextMutable();
    live.length = 0;
    for (const message of context) live.push(message);
    this.#version = stored.version;
    this.#token = stored.token;
    this.#stored = [...stored.messages];
    this.#storedHead = JSON.stringify(stored.head);
    this.#ancestorHead = theirs;
  }
}

/** Tests if a failed commit may have been applied. A custom store may throw any error. */
function isUnknown(error: unknown): boolean {
  return SessionStoreError.isInstance(error) ? error.outcome === 'unknown' : !XError.isInstance(error);
}

function identityOf(key: SessionKey): Parameters<typeof AgentState.create>[0] {
  const { sessionId, userId, tenantId } = key.parts;
  return { sessionId, userId, tenantId };
}

function readState(key: SessionKey, { head, messages }: StoredSession): AgentState {
  checkFormat(`The state of session ${key}`, head.schemaVersion, AGENT_STATE_VERSION, '@x/core', key);
  try {
    return AgentState.fromParts(head, messages);
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    throw new SessionStoreError(
      'session_corrupt',
      `Session ${key} cannot be read: ${error.message} Nothing was changed. Repair or delete the session.`,
      { sessionKey: key.toString(), cause: error },
    );
  }
}

/** Returns the first line of the first user request among the messages. */
export function titleOf(messages: readonly Message[]): string | undefined {
  for (const message of messages) {
    if (message.role !== 'user' || message.kind !== undefined) continue;
    const line = textOf(message)
      .trimStart()
      .slice(0, 4 * TITLE_LENGTH)
      .split('\n', 1)[0]
      ?.trim();
    if (line) return [...line].slice(0, TITLE_LENGTH).join('');
  }
  return undefined;
}
