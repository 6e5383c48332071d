import { join } from 'node:path';
import { type SessionStore, storageOf, type Workspace } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { SqliteSession } from '@x/session-sqlite';
import { sessionsFile } from '../../cli/src/stores.js';

/** The storage of sessions, logs and reports. */
export interface Storage {
  readonly workspace: Workspace;
  readonly store: SessionStore;
}

/** Opens the files in a directory: sessions in SQLite there, or in files where an earlier release kept them so. */
export function openFiles(data: string): Storage {
  const workspace = new LocalWorkspace(join(data, 'workspace'));
  workspace.check();
  const file = sessionsFile(workspace.root);
  const store = file === undefined ? new WorkspaceSession(storageOf(workspace)) : new SqliteSession({ file });
  return { workspace, store };
}
