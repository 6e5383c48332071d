import type { SessionStore, Workspace } from '@x/core';
import { pathSegments, type WorkspaceEntry } from '@x/core/store';
import { isLog, type LogFiles } from './log-path.js';
import { StoreLogs } from './store-logs.js';

/**
 * Wraps a workspace and stores the logs of sessions elsewhere: in another workspace at the same paths, or in the collection `logs` of a
 * session store. Logs whose names were cut, such as those of very long ids, stay in the workspace.
 */
export function withLogs(base: Workspace, elsewhere: Workspace | SessionStore): Workspace {
  const logs: LogFiles = 'commit' in elsewhere ? new StoreLogs(elsewhere) : elsewhere;
  const within = async <T>(path: string, work: (place: LogFiles, path: string) => Promise<T>): Promise<T> => {
    const name = pathSegments(path).join('/');
    return isLog(name) ? work(logs, name) : work(base, path);
  };
  const { lock } = base;
  return {
    reach: base.reach,
    read: (path, range) => within(path, (place, at) => place.read(at, range)),
    write: (path, data, options) => within(path, (place, at) => place.write(at, data, options)),
    append: (path, data) => within(path, (place, at) => place.append(at, data)),
    // A directory may exist only because of the logs in it.
    stat: (path) =>
      within(
        path,
        async (place, at) => (await place.stat(at)) ?? (place === base ? logs.stat(path) : undefined),
      ),
    delete: (path) =>
      within(path, async (place, at) => {
        const isDeleted = await place.delete(at);
        return place === base ? (await logs.delete(path)) || isDeleted : isDeleted;
      }),
    async *list(path, options) {
      const entries = new Map<string, WorkspaceEntry>();
      for await (const entry of base.list(path, options)) entries.set(entry.path, entry);
      for await (const entry of logs.list(path, options)) {
        if (entry.type === 'directory' ? !entries.has(entry.path) : isLog(entry.path))
          entries.set(entry.path, entry);
      }
      for (const place of [...entries.keys()].sort()) yield entries.get(place) as WorkspaceEntry;
    },
    ...(lock && { lock: lock.bind(base) }),
  };
}
