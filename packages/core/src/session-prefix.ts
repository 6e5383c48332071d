import { fileSegment } from './encode-segment.js';
import type { SessionKey, SessionScope } from './session-key.js';
import type { Workspace } from './workspace.js';

const LEVELS = [
  ['tenants', 'tenantId'],
  ['users', 'userId'],
  ['agents', 'agentId'],
] as const;

/**
 * Where, in a workspace, lies what belongs to the tenant, user and agent of a session:
 * `[tenants/<tenant>/][users/<user>/][agents/<agent>/]`, each only when the key has that part. Ends with `/` unless
 * empty.
 */
export function sessionPrefix(key: SessionKey): string {
  const path = key.path;
  return LEVELS.map(([folder, part]) => (path[part] === undefined ? '' : `${folder}/${path[part]}/`)).join(
    '',
  );
}

/** The paths that lie in `folder` below the prefixes that a scope allows; files of other scopes are not looked at. */
export async function* listBelowPrefixes(
  workspace: Workspace,
  folder: string,
  scope: SessionScope = {},
  prefix = '',
  level = 0,
): AsyncIterable<string> {
  const wanted = LEVELS.slice(level).every(([, part]) => scope[part] === undefined);
  if (wanted) for await (const { path } of workspace.list(`${prefix}${folder}`)) yield path;

  for (const [index, [levelFolder, part]] of LEVELS.entries()) {
    if (index < level) continue;
    const only = scope[part];
    if (only !== undefined) {
      const below = `${prefix}${levelFolder}/${fileSegment(only)}/`;
      yield* listBelowPrefixes(workspace, folder, scope, below, index + 1);
      // A key without this part is not in the scope.
      return;
    }
    for await (const { path, type } of workspace.list(`${prefix}${levelFolder}`)) {
      if (type === 'directory') {
        yield* listBelowPrefixes(workspace, folder, scope, `${path}/`, index + 1);
      }
    }
  }
}
