import type { SessionKey, SessionStore } from '@x/core';
import { operationId, type SessionChange } from '@x/core/store';

/** A change on top of a version instead of a token. Default: an empty head, with no messages kept or appended. */
export interface ChangeAt extends Partial<Omit<SessionChange, 'operation' | 'expected'>> {
  /** The version that the writer has seen; 0 if it has seen no session. */
  readonly expectedVersion: number | 'latest';
}

/** The last commit of {@link commitAt}, by store and key. */
const committed = new WeakMap<
  SessionStore,
  Map<string, { readonly version: number; readonly token: string }>
>();

/**
 * Commits like a writer that has seen this version. The token of the version is loaded only if this function did not commit it, so that
 * tests that count requests count only those of the commit.
 */
export async function commitAt(store: SessionStore, key: SessionKey, change: ChangeAt): Promise<number> {
  const { expectedVersion, head = {}, keep = 0, append = [], fence } = change;
  const operation = operationId();
  const expected = expectedVersion === 0 ? undefined : await tokenAt(store, key, expectedVersion);
  const version = await store.commit(key, { operation, expected, head, keep, append, fence });
  const known = committed.get(store) ?? new Map();
  committed.set(store, known.set(`${key}`, { version, token: operation }));
  return version;
}

/** Returns the token of a version. If the session now has another version, returns a token that no session has. */
async function tokenAt(
  store: SessionStore,
  key: SessionKey,
  version: number | 'latest',
): Promise<string | undefined> {
  const known = committed.get(store)?.get(`${key}`);
  if (known?.version === version) return known.token;
  const stored = await store.load(key);
  return version === 'latest' || stored?.version === version ? stored?.token : operationId();
}
