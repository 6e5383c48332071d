import { SessionKey, type Workspace } from '@x/core';
import { STORAGE } from '@x/core/internal';

/** Matches the path of a session's log. Names with `%_` were cut for a file system, so their key cannot be decoded. */
const LOG = new RegExp(
  `^\\${STORAGE}/(?!.*%_)(?:tenants/([^/]+)/)?(?:users/([^/]+)/)?(?:agents/([^/]+)/)?sessions/([^/]+)\\.log\\.jsonl$`,
);

/** Storage for the logs of sessions, by their paths in the workspace. */
export type LogFiles = Pick<Workspace, 'read' | 'write' | 'append' | 'list' | 'stat' | 'delete'>;

/** Tests if a path is that of a session's log from which the session's key can be decoded. */
export function isLog(path: string): boolean {
  return LOG.test(path);
}

/** Returns the encoded key of the session whose log is at a path. */
export function memberOf(path: string): string {
  const [, ...parts] = LOG.exec(path) ?? [];
  // A missing part is empty in an encoded key.
  return parts.map((part) => part ?? '').join('/');
}

/** Returns the key of the session whose log is at a path. */
export function keyOfLog(path: string): SessionKey {
  return SessionKey.parse(memberOf(path));
}
