import { join } from 'node:path';
import type { SessionStore, Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { openSessions, sessionsFile, stores } from '../../cli/src/stores.js';

/** The storage of sessions, logs and reports. */
export interface Storage {
  /** Such as `files in .x` or `Redis`. */
  readonly name: string;
  /** The folder of the agent's files; left out where they are not on this machine. */
  readonly folder?: string;
  readonly workspace: Workspace;
  readonly store: SessionStore;
  close(): Promise<void>;
}

/** Opens what servers share: all of it on Redis. */
export async function openRedis(address: string): Promise<Storage> {
  const { store, workspace, close } = await stores.redis.open(address, {
    createTables: true,
    part: 'x-demo:',
  });
  return { name: 'Redis', workspace, store, close };
}

/** Opens the files in a directory, with the sessions in SQLite if it can be loaded: see {@link openSessions}. */
export function openFiles(data: string): Storage {
  const workspace = new LocalWorkspace(join(data, 'workspace'));
  workspace.check();
  const sessions = openSessions(sessionsFile(workspace.root), console.error);
  return { name: `files in ${data}`, folder: workspace.root, workspace, ...sessions };
}
