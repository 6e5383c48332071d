import { type SessionInfo, type SessionStore, SessionStoreError, TimeLimitError } from '@x/core';
import { exactText, headOf, isObject, stepwise, withinLimit } from '@x/core/internal';
import { type HeldLease, type StoredSession, wrapLeases, wrapStore } from '@x/core/store';
import { errorOf } from '../errors/harness-error.js';

/** The share of the limit that a request waits once another has had no answer: time for one that is there to give it. */
const SHARE_IN_SILENCE = 1 / 30;

/**
 * Bounds requests to a store and a log. When one has had no answer, those that follow wait for a moment only, until what was
 * silent answers: so a turn whose store stands still ends after one limit, not after one for each of its last requests.
 */
export class StoreLimit {
  readonly #ms: number;
  /** Who has not answered since, and the error of the request. */
  #silence: { readonly of: string; readonly error: TimeLimitError } | undefined;

  /** @param ms Milliseconds; 0 for no limit. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** @throws {TimeLimitError} when no answer comes in time. */
  async within<Value>(
    of: 'The session store' | 'The log',
    what: string,
    work: () => PromiseLike<Value>,
  ): Promise<Value> {
    const ms = this.#silence === undefined ? this.#ms : this.#ms * SHARE_IN_SILENCE;
    try {
      const value = await withinLimit([`${of}'s ${what}`, 'limits.storeMs', ms], work);
      this.#heard(of);
      return value;
    } catch (error) {
      if (TimeLimitError.isInstance(error)) {
        this.#silence ??= { of, error };
        throw this.#silence.error;
      }
      this.#heard(of);
      throw error;
    }
  }

  #heard(of: string): void {
    if (this.#silence?.of === of) this.#silence = undefined;
  }
}

interface Method {
  readonly answers: string;
  readonly isAnswer: (answer: never) => boolean;
  /** What is known of a request without an answer. */
  readonly outcome: 'none' | 'unknown';
}

/** What the methods of a store answer. A program that brings a store of its own may get any of them wrong. */
const METHODS = {
  load: {
    answers: 'undefined, or a session: { token, version, head, messages }',
    isAnswer: (found?: StoredSession | null) =>
      found === undefined ||
      (typeof found?.token === 'string' &&
        isCount(found.version) &&
        isObject(found.head) &&
        Array.isArray(found.messages)),
    outcome: 'none',
  },
  commit: { answers: 'the version that it made', isAnswer: isCount, outcome: 'unknown' },
  delete: { answers: 'a boolean', isAnswer: isBoolean, outcome: 'unknown' },
  list: {
    answers: 'sessions: { key, version, metadata, ... }',
    isAnswer: ({ done, value }: IteratorResult<SessionInfo>) => done || isObject(value?.key),
    outcome: 'none',
  },
  'leases.take': {
    answers: 'undefined, or a fence: a number',
    isAnswer: (fence?: number | null) => fence === undefined || Number.isFinite(fence),
    outcome: 'none',
  },
  'leases.confirm': { answers: 'a boolean', isAnswer: isBoolean, outcome: 'none' },
  'leases.release': { answers: 'anything', isAnswer: () => true, outcome: 'none' },
  'leases.find': {
    answers: 'undefined, or a lease: { token, process, fence, ... }',
    isAnswer: (held?: HeldLease | null) =>
      held === undefined ||
      (Number.isFinite(held?.fence) &&
        Number.isFinite(held?.ttlMs) &&
        [held?.token, held?.process, held?.host].every((each) => typeof each === 'string')),
    outcome: 'none',
  },
} as const satisfies Record<string, Method>;

function isCount(answer: unknown): boolean {
  return Number.isSafeInteger(answer) && (answer as number) > 0;
}

function isBoolean(answer: unknown): boolean {
  return typeof answer === 'boolean';
}

/**
 * Bounds every request of an agent to its store, and refuses answers that are none. A commit whose answer did not come may have been
 * applied: it is sent again as it is.
 *
 * @param limit Returns the limit of a request: one for all requests of a turn.
 */
export function boundedStore(store: SessionStore, limit: () => StoreLimit): SessionStore {
  async function within<Value>(name: keyof typeof METHODS, work: () => Promise<Value>): Promise<Value> {
    const { outcome, answers, isAnswer }: Method = METHODS[name];
    let answer: Value;
    try {
      answer = await limit().within('The session store', name, work);
    } catch (cause) {
      if (!TimeLimitError.isInstance(cause)) throw errorOf(`The session store's ${name}`, cause);
      const message = `${cause.message} It gave no answer: is its server running, and reachable from here?`;
      throw new SessionStoreError('session_unavailable', message, { cause, outcome });
    }
    if (isAnswer(answer as never)) return answer;
    const text = `The session store's ${name} answered ${headOf(exactText(answer), 200)}. It must answer ${answers}.`;
    throw new SessionStoreError('session_store_invalid', text, { outcome });
  }
  return wrapStore(store, (inner) => {
    const { leases } = inner;
    return {
      load: (key, options) => within('load', () => inner.load(key, options)),
      commit: (key, change) => within('commit', () => inner.commit(key, change)),
      delete: (key, options) => within('delete', () => inner.delete(key, options)),
      list: (scope, options) => stepwise(inner.list(scope, options), (step) => within('list', step)),
      ...(leases && {
        leases: wrapLeases(leases, (operation, _, task) => within(`leases.${operation}`, task)),
      }),
    };
  });
}
