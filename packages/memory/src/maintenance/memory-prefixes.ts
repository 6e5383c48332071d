import type { Workspace } from '@x/core';
import { CORE_FILE } from '../memory-files.js';

const OWN: ReadonlySet<string> = new Set([CORE_FILE, 'memory', 'sessions']);
const LEVELS = ['tenants', 'users', 'agents'] as const;

/** All places in a workspace where a tenant, user or agent may have a memory or sessions. Each is empty or ends with `/`. */
export async function* memoryPrefixes(
  workspace: Workspace,
  prefix = '',
  level = 0,
): AsyncGenerator<string, void, undefined> {
  for await (const { path } of workspace.list(prefix)) {
    const name = path.slice(prefix.length);
    if (!OWN.has(name)) continue;
    yield prefix;
    break;
  }
  for (const [index, folder] of LEVELS.entries()) {
    if (index < level) continue;
    for await (const { path, type } of workspace.list(`${prefix}${folder}`)) {
      if (type === 'directory') yield* memoryPrefixes(workspace, `${path}/`, index + 1);
    }
  }
}
