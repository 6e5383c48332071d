import type { WorkspaceEntry } from '@x/core';

/** A file that changed so short a time ago may change once more without another time. */
const UNSURE_MS = 20;

/** What tells that a file has not changed since, without reading it; `null` when it may be changing now. */
export function markOf({ size, modifiedAt }: WorkspaceEntry): string | null {
  const age = Date.now() - Date.parse(modifiedAt);
  return Math.abs(age) < UNSURE_MS ? null : `${size} ${modifiedAt}`;
}
