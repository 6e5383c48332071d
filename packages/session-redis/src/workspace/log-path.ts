import { SessionKey, type Workspace } from '@x/core';
import { STORAGE } from '@x/core/internal';

/** Names that were cut for a file system tell no key. */
const LOG = new RegExp(
  `^\\${STORAGE}/(?!.*%_)(?:tenants/([^/]+)/)?(?:users/([^/]+)/)?(?:agents/([^/]+)/)?sessions/([^/]+)\\.log\\.jsonl$`,
);

/** A place for the logs of sessions, by their paths in the workspace. */
export type LogFiles = Pick<Workspace, 'read' | 'write' | 'append' | 'list' | 'stat' | 'delete'>;

/** Returns whether a path is that of a session's log, by which its key can be told. */
export function isLog(path: string): boolean {
  return LOG.test(path);
}

/** The encoded key of the session whose log is at a path. */
export function memberOf(path: string): string {
  const [, ...parts] = LOG.exec(path) ?? [];
  // An absent part is empty.
  return parts.map((part) => part ?? '').join('/');
}

/** The key of the session whose log is at a path. */
export function keyOfLog(path: string): SessionKey {
  return SessionKey.parse(memberOf(path));
}
