import { InMemorySession, type SessionKey, SessionStoreError } from '@x/core';
import type { LoadOptions, SessionChange, StoredSession } from '@x/core/store';
import type { SessionStoreSuiteOptions } from '../../src/suites.js';

const TTL_MS = 60_000;

type Moment = 'before' | 'during' | 'after';

/** A store whose sessions expire, and whose connection can be cut. */
export class FragileSession extends InMemorySession {
  readonly #expiresAt = new Map<string, number>();
  #cut: Moment | undefined;

  /** What the suite needs to know to test all of that. */
  static options(
    create: () => FragileSession,
  ): Pick<SessionStoreSuiteOptions, 'create' | 'expiry' | 'faults'> {
    let store: FragileSession;
    return {
      create: () => {
        store = create();
        return store;
      },
      expiry: {
        ttlMs: TTL_MS,
        remainingMs: async (key) => store.#endOf(key) - Date.now(),
        expireIn: async (key, ms) => {
          store.#expiresAt.set(key.toString(), Date.now() + ms);
        },
      },
      faults: {
        cut: (when) => {
          store.#cut = when;
        },
      },
    };
  }

  isExpired(key: SessionKey): boolean {
    return this.#endOf(key) <= Date.now();
  }

  /** Removes a session that has expired. */
  async forget(key: SessionKey): Promise<void> {
    await super.delete(key);
  }

  override load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    return this.#through(key, () => super.load(key, options));
  }

  override commit(key: SessionKey, change: SessionChange): Promise<number> {
    return this.#through(key, async () => {
      const version = await super.commit(key, change);
      this.#expiresAt.set(key.toString(), Date.now() + TTL_MS);
      return version;
    });
  }

  override delete(...parameters: Parameters<InMemorySession['delete']>): Promise<boolean> {
    return this.#through(parameters[0], () => super.delete(...parameters));
  }

  override async *list(...parameters: Parameters<InMemorySession['list']>) {
    for await (const info of super.list(...parameters)) if (!this.isExpired(info.key)) yield info;
  }

  #endOf(key: SessionKey): number {
    return this.#expiresAt.get(key.toString()) ?? Number.POSITIVE_INFINITY;
  }

  async #through<T>(key: SessionKey, operation: () => Promise<T>): Promise<T> {
    if (this.isExpired(key)) await this.forget(key);
    const moment = this.#cut;
    this.#cut = undefined;
    const broken = new SessionStoreError('session_unavailable', 'The connection was cut.');
    if (moment === 'before' || moment === 'during') throw broken;
    const answer = await operation();
    if (moment === 'after') throw broken;
    return answer;
  }
}
