import type { ListOptions, SessionScope, SessionStore } from '@x/core';

/** The keys that a store lists, encoded and sorted. */
export async function listed(
  store: SessionStore,
  scope?: SessionScope,
  options?: ListOptions,
): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(scope, options)) keys.push(key.toString());
  return keys.sort();
}
