import { join } from 'node:path';
import type { SessionStore, Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { openSessions, sessionsFile } from '../../cli/src/stores.js';

/** The storage of sessions, logs and reports. */
export interface Storage {
  /** The folder of the agent's files. */
  readonly folder: string;
  readonly workspace: Workspace;
  readonly store: SessionStore;
  close(): Promise<void>;
}

/** Opens the files in a directory, with the sessions in SQLite if it can be loaded: see {@link openSessions}. */
export function openFiles(data: string): Storage {
  const workspace = new LocalWorkspace(join(data, 'workspace'));
  workspace.check();
  const sessions = openSessions(sessionsFile(workspace.root), console.error);
  return { folder: workspace.root, workspace, ...sessions };
}
