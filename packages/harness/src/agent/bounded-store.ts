import { type SessionInfo, type SessionStore, SessionStoreError, TimeLimitError } from '@x/core';
import { exactText, headOf, isObject, stepwise, withinLimit } from '@x/core/internal';
import { type HeldLease, type StoredSession, wrapLeases, wrapStore } from '@x/core/store';
import { errorOf } from '../errors/harness-error.js';

/** Share of the limit that a request waits while the store is unresponsive: enough for a store that has recovered to answer. */
const SHARE_IN_SILENCE = 1 / 30;

/**
 * Limits the time of requests to a store and a log. After a request has timed out, later requests wait only briefly until one is answered.
 * So a turn with an unresponsive store ends after one limit, not after one limit per request.
 */
export class StoreLimit {
  readonly #ms: number;
  /** The store or log that has not answered since its last timeout, and the error of that request. */
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
  /** Whether a request without an answer had no effect (`none`), or may have had one (`unknown`). */
  readonly outcome: 'none' | 'unknown';
}

/** Describes and validates the answers of a store's methods, because a custom store may return anything. */
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
  commit: { answers: 'the new version', isAnswer: isCount, outcome: 'unknown' },
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
 * Bounds every request of an agent to its store, and rejects invalid answers. If a commit gets no answer, it may have been applied: the
 * same commit is sent again.
 *
 * @param limit Returns the limit of a request: all requests of a turn share one.
 */
export function boundedStore(store: SessionStore, limit: () => StoreLimit): SessionStore {
  async function within<Value>(name: keyof typeof METHODS, work: () => Promise<Value>): Promise<Value> {
    const { outcome, answers, isAnswer }: Method = METHODS[name];
    let answer: Value;
    try {
      answer = await limit().within('The session store', name, work);
    } catch (cause) {
      if (!TimeLimitError.isInstance(cause)) throw errorOf(`The session store's ${name}`, cause);
      const message = `${cause.message} Check that its server is running and reachable from here.`;
      throw new SessionStoreError('session_unavailable', message, { cause, outcome });
    }
    if (isAnswer(answer as never)) return answer;
    const text = `The session store's ${name} returned ${headOf(exactText(answer), 200)}. It must return ${answers}.`;
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
