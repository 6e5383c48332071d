import { operationId, type SessionChange, type SessionKey, type SessionStore } from '@x/core';

/** A change that is made for a version, in place of a token. Default: an empty head, and nothing kept or appended. */
export interface ChangeAt extends Partial<Omit<SessionChange, 'operation' | 'expected'>> {
  /** The version that was seen; 0 for no session. */
  readonly expectedVersion: number | 'latest';
}

/** By store and key, what {@link commitAt} committed last. */
const committed = new WeakMap<
  SessionStore,
  Map<string, { readonly version: number; readonly token: string }>
>();

/**
 * Commits as a writer that has seen this version. Looks what its token is only where this function has not made it, so that
 * a commit costs what it costs.
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

/** The token of a version; of one that is no longer, or not yet, a token that no session has. */
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
