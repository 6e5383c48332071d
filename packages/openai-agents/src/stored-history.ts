import { setTimeout as sleep } from 'node:timers/promises';
import {
  AgentState,
  type JsonObject,
  type Message,
  SessionConflictError,
  type SessionKey,
  type SessionStore,
} from '@x/core';
import type { Operations } from './history-transaction.js';

const EXTENSION = 'openai-agents';
/** How often a change is worked out anew when others commit at the same time. */
const MAX_ATTEMPTS = 20;
const LONGEST_PAUSE_MS = 50;

/** What a session holds at one moment. */
export interface History {
  readonly messages: readonly Message[];
  readonly operations: Operations;
}

/** A new history: the first `keep` messages, followed by `append`. */
export interface HistoryChange {
  readonly keep: number;
  readonly append: readonly Message[];
  /** Default: as they were. */
  readonly operations?: Operations;
}

/** Version, length and head of what was last read or written: enough to add to it without reading it again. */
interface Known {
  readonly version: number;
  readonly count: number;
  readonly head: JsonObject;
}

/**
 * The history of one session in a store. Changes are compared and set: whoever comes second works its change out anew
 * from what the first has left, so that no turn of either is lost.
 */
export class StoredHistory {
  readonly #store: SessionStore;
  readonly #key: SessionKey;
  #known: Known | undefined;
  /** Settles when the last change that was asked for is done. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(store: SessionStore, key: SessionKey) {
    this.#store = store;
    this.#key = key;
  }

  /** What is stored now, after all changes that were asked for before. */
  async read(): Promise<History> {
    await this.#changing;
    return (await this.#load()).history;
  }

  /** Adds to the end. Reads nothing as long as nobody else writes. */
  append(messages: readonly Message[]): Promise<void> {
    return this.#inTurn(async () => {
      const known = this.#known ?? (await this.#load()).known;
      await this.#commit(known, { keep: known.count, append: messages });
    });
  }

  /** Changes the history as `plan` says, or not at all when it gives `undefined`. `plan` may be called several times. */
  change<Change extends HistoryChange>(
    plan: (history: History) => Change | undefined | Promise<Change | undefined>,
  ): Promise<Change | undefined> {
    return this.#inTurn(async () => {
      const { known, history } = await this.#load();
      const change = await plan(history);
      if (change !== undefined) await this.#commit(known, change);
      return change;
    });
  }

  /** One after the other, or a session would be in conflict with itself. */
  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = this.#changing.then(() => this.#retrying(task));
    this.#changing = done.catch(() => {});
    return done;
  }

  async #retrying<Result>(task: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await task();
      } catch (error) {
        this.#known = undefined;
        if (!SessionConflictError.isInstance(error) || attempt >= MAX_ATTEMPTS) throw error;
        // With jitter, so that writers who met once do not meet again.
        await sleep(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS));
      }
    }
  }

  async #load(): Promise<{ readonly known: Known; readonly history: History }> {
    const stored = await this.#store.load(this.#key);
    // The head of an agent's state, so that whatever lists, opens or inspects sessions can read this one, too.
    const { sessionId, userId, tenantId } = this.#key.parts;
    const head = stored?.head ?? AgentState.create({ sessionId, userId, tenantId }).head();
    const messages = stored?.messages ?? [];
    const known = { version: stored?.version ?? 0, count: messages.length, head };
    return { known, history: { messages, operations: operationsOf(head) } };
  }

  async #commit(known: Known, { keep, append, operations }: HistoryChange): Promise<void> {
    const head = operations === undefined ? known.head : withOperations(known.head, operations);
    const version = await this.#store.commit(this.#key, {
      expectedVersion: known.version,
      head,
      keep,
      append,
    });
    this.#known = { version, count: keep + append.length, head };
  }
}

function operationsOf(head: JsonObject): Operations {
  const { extensions } = head as { readonly extensions?: { readonly [name: string]: JsonObject } };
  return (extensions?.[EXTENSION]?.operations ?? []) as unknown as Operations;
}

function withOperations(head: JsonObject, operations: Operations): JsonObject {
  const extensions = head.extensions as JsonObject | undefined;
  return { ...head, extensions: { ...extensions, [EXTENSION]: { operations } } };
}
