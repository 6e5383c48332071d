import type { SessionScope, SessionStore } from '@x/core';

/** The keys that a store lists, encoded and sorted. */
export async function listed(store: SessionStore, scope?: SessionScope): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(scope)) keys.push(key.toString());
  return keys.sort();
}
