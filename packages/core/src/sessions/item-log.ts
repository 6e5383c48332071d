import { AgentState } from '../agent/agent-state.js';
import { isOutage, SessionConflictError, SessionStoreError } from '../errors/session-errors.js';
import { steadyClock, systemClock } from '../lib/clock.js';
import { isObject, type JsonObject, type JsonValue } from '../lib/json.js';
import { KeyedMutex } from '../lib/keyed-mutex.js';
import { assistantMessage, type Message, systemMessage, userMessage } from '../messages/message.js';
import type { SessionKey } from './session-key.js';
import type { LoadOptions, SessionStore } from './session-store.js';
import { operationId, sessionDeleted } from './store-rules.js';

/** Maximum number of attempts of one change when other writers commit at the same time, and the longest pause between two attempts. */
const MAX_ATTEMPTS = 20;
const LONGEST_PAUSE_MS = 50;
/** Default milliseconds for which a failed request to the store is repeated in an outage, and the longest pause between two requests. */
const OUTAGE_MS = 30_000;
const LONGEST_OUTAGE_PAUSE_MS = 500;

/** The content of a log at one moment. */
export interface ItemHistory {
  readonly messages: readonly Message[];
  /** Other data that the framework stores with its items. */
  readonly state: JsonObject;
  /** Time of the last change, ISO 8601, UTC; `undefined` if nothing was ever written. */
  readonly updatedAt?: string | undefined;
}

/** A new history: the first `keep` messages, followed by `append`. */
export interface ItemChange {
  readonly keep: number;
  readonly append: readonly Message[];
  /** Default: unchanged. */
  readonly state?: JsonObject;
}

/** Version token, number of messages and head (everything but the messages) after the last read or write. An append needs no more. */
interface Known {
  readonly token: string | undefined;
  readonly count: number;
  readonly head: JsonObject;
}

interface Loaded {
  readonly known: Known;
  readonly history: ItemHistory;
}

/**
 * A list of items that another agent framework keeps, such as the OpenAI Agents SDK. It is stored in one session, or in one record of a
 * store's collection, one message per item. Changes use compare-and-set: if another writer was first, the change is computed again from the
 * new log, so no item is lost.
 *
 * @example
 * ```ts
 * const log = new ItemLog(store, SessionKey.of('s-001'), 'my-framework');
 * await log.append(() => [log.message({ text: 'Hi' })]);
 * const { messages } = await log.read();
 * console.log(messages.map((message) => log.item(message)));
 * ```
 */
export class ItemLog {
  readonly #store: SessionStore;
  readonly #key: SessionKey;
  readonly #name: string;
  readonly #outageMs: number;
  #known: Known | undefined;
  /** `true` if the log was in the store at the last read or commit. */
  #isStored = false;
  /** Runs changes one after the other, because parallel ones would conflict. */
  readonly #changes = new KeyedMutex();

  /**
   * @param name The framework's name. It marks the items, and separates the framework's state from others.
   * @param outageMs Milliseconds for which a failed request of a change is repeated while the store does not respond, or rejects requests
   * temporarily. A failed request is repeated at least once. Default 30 000.
   */
  constructor(store: SessionStore, key: SessionKey, name: string, outageMs = OUTAGE_MS) {
    this.#store = store;
    this.#key = key;
    this.#name = name;
    this.#outageMs = outageMs;
  }

  /** Creates the message that contains an item. The role is only used by listings and inspectors. */
  message(item: JsonValue, role: 'user' | 'system' | 'assistant' = 'assistant'): Message {
    const make = { user: userMessage, system: systemMessage, assistant: assistantMessage }[role];
    return make([{ type: 'opaque', provider: this.#name, data: item }]);
  }

  /**
   * Returns the item in a message.
   *
   * @throws {SessionStoreError} when the message was written by something else.
   */
  item(message: Message): JsonObject {
    const [block, ...others] = message.content;
    if (
      block?.type === 'opaque' &&
      block.provider === this.#name &&
      others.length === 0 &&
      isObject(block.data)
    )
      return block.data;
    const sessionKey = this.#key.toString();
    throw new SessionStoreError(
      'session_corrupt',
      `Session ${sessionKey} contains message ${message.id}, which is not an item of ${this.#name}: another agent uses this ` +
        'key. Give each agent its own key.',
      { sessionKey },
    );
  }

  /** Waits for all changes that were requested before. Then reads the log, or only its newest `options.last` messages. */
  async read(options?: LoadOptions): Promise<ItemHistory> {
    await this.#changes.run(this.#name, async () => {});
    return (await this.#load(options)).history;
  }

  /**
   * Appends messages. Reads the log only at first, and after a failed commit, such as a conflict with another writer.
   *
   * @param make Creates the messages. `loaded` is the log, if `append` had to read it.
   */
  append(
    make: (loaded: ItemHistory | undefined) => readonly Message[] | Promise<readonly Message[]>,
  ): Promise<void> {
    let append: readonly Message[] = [];
    return this.#inTurn(async () => {
      const loaded = this.#known === undefined ? await this.#loadForChange() : undefined;
      const known = loaded?.known ?? (this.#known as Known);
      // A store forgets a commit whose reply was lost after several commits of other writers.
      const last = append.at(-1)?.id;
      if (last !== undefined && loaded?.history.messages.some(({ id }) => id === last)) return;
      append = await make(loaded?.history);
      if (append.length > 0) await this.#commit(known, { keep: known.count, append });
    });
  }

  /** Applies the change that `plan` returns; `undefined` changes nothing. `plan` may be called several times. */
  change<Change extends ItemChange>(
    plan: (history: ItemHistory) => Change | undefined | Promise<Change | undefined>,
  ): Promise<Change | undefined> {
    return this.#inTurn(async () => {
      const { known, history } = await this.#loadForChange();
      const change = await plan(history);
      if (change !== undefined) await this.#commit(known, change);
      return change;
    });
  }

  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#changes.run(this.#name, () => this.#retrying(task));
  }

  async #retrying<Result>(task: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await task();
      } catch (error) {
        this.#known = undefined;
        if (!SessionConflictError.isInstance(error) || attempt >= MAX_ATTEMPTS) throw error;
        // Jitter keeps writers that conflicted once from conflicting again.
        await systemClock.sleep(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS));
      }
    }
  }

  /** Reads the log for a change. Rejects if the log was deleted since the last access, because the change would restore a part of it. */
  async #loadForChange(): Promise<Loaded> {
    const wasStored = this.#isStored;
    const loaded = await this.#patiently(() => this.#load());
    if (wasStored && !this.#isStored) throw sessionDeleted(this.#key);
    return loaded;
  }

  async #load(options?: LoadOptions): Promise<Loaded> {
    const stored = await this.#store.load(this.#key, options);
    this.#isStored = stored !== undefined;
    // A new log gets a valid agent state as its head, so that programs that list, open or inspect sessions can read this one, too.
    const { sessionId, userId, tenantId } = this.#key.parts;
    const head = stored?.head ?? AgentState.create({ sessionId, userId, tenantId }).head();
    const messages = stored?.messages ?? [];
    const extensions = isObject(head.extensions) ? head.extensions : {};
    const state = extensions[this.#name];
    const known = { token: stored?.token, count: messages.length, head };
    if (options?.last === undefined || !this.#isStored) this.#known = known;
    const history = { messages, state: isObject(state) ? state : {}, updatedAt: stored?.updatedAt };
    return { known, history };
  }

  async #commit(known: Known, { keep, append, state }: ItemChange): Promise<void> {
    const extensions = known.head.extensions as JsonObject | undefined;
    const head =
      state === undefined
        ? known.head
        : { ...known.head, extensions: { ...extensions, [this.#name]: state } };
    const operation = operationId();
    // If the reply is lost, the commit is repeated. The store applies an operation with the same id only once.
    const change = { operation, expected: known.token, head, keep, append };
    await this.#patiently(() => this.#store.commit(this.#key, change));
    this.#known = { token: operation, count: keep + append.length, head };
    this.#isStored = true;
  }

  /** Runs a request, and repeats it during an outage of the store. */
  async #patiently<Result>(request: () => Promise<Result>): Promise<Result> {
    const since = steadyClock.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await request();
      } catch (error) {
        const isLate = attempt > 1 && steadyClock.now() - since >= this.#outageMs;
        if (!isOutage(error) || isLate) throw error;
      }
      await systemClock.sleep(Math.min(2 ** attempt, LONGEST_OUTAGE_PAUSE_MS));
    }
  }
}
