import type { Workspace } from '@x/core';
import { FLUSH_FOLDER } from '../memory-scope.js';

const DAY_MS = 86_400_000;
const LOG_SUFFIX = '.log.jsonl';

/**
 * Deletes the logs of sessions in which nothing was said for `days`, and what was noted of their flushes.
 *
 * @returns How many logs were deleted.
 */
export async function pruneSessions(
  workspace: Workspace,
  prefix: string,
  { now, days }: { readonly now: number; readonly days: number },
): Promise<number> {
  if (days === 0) return 0;
  const folder = `${prefix}sessions/`;
  const old: string[] = [];
  for await (const { path, type, modifiedAt } of workspace.list(`${prefix}sessions`)) {
    if (type !== 'file' || !path.endsWith(LOG_SUFFIX)) continue;
    if (Date.parse(modifiedAt) < now - days * DAY_MS) old.push(path);
  }
  let pruned = 0;
  for (const path of old) {
    const session = path.slice(folder.length, -LOG_SUFFIX.length);
    await workspace.delete(`${prefix}${FLUSH_FOLDER}/${session}.json`);
    if (await workspace.delete(path)) pruned++;
  }
  return pruned;
}
