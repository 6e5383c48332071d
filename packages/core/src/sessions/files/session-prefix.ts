import { fileSegment } from '../../lib/encode-segment.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { SessionKey, SessionScope } from '../session-key.js';

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

/**
 * What lies in `folder` below every prefix that a scope allows; a scope that names the session narrows it to
 * `<session><suffix>`. Where no session of the scope can be, nothing is looked at.
 */
export async function* listBelowPrefixes(
  workspace: Workspace,
  folder: string,
  suffix: string,
  scope: SessionScope,
  prefix = '',
  level = 0,
): AsyncIterable<string> {
  if (LEVELS.slice(level).every(([, part]) => scope[part] === undefined)) {
    const only = scope.sessionId === undefined ? undefined : `/${fileSegment(scope.sessionId)}${suffix}`;
    for await (const { path } of workspace.list(`${prefix}${folder}`)) {
      if (path.endsWith(only ?? suffix)) yield path;
    }
  }
  for (const [index, [parent, part]] of LEVELS.entries()) {
    if (index < level) continue;
    const only = scope[part];
    if (only !== undefined) {
      const below = `${prefix}${parent}/${fileSegment(only)}/`;
      yield* listBelowPrefixes(workspace, folder, suffix, scope, below, index + 1);
      // A key without this part is not in the scope.
      return;
    }
    for await (const { path, type } of workspace.list(`${prefix}${parent}`)) {
      if (type === 'directory') {
        yield* listBelowPrefixes(workspace, folder, suffix, scope, `${path}/`, index + 1);
      }
    }
  }
}
