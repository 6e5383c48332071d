import { join } from 'node:path';
import { fileSegment, type SessionStore, storageOf, type Workspace } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { SqliteSession } from '@x/session-sqlite';
import { type StoreName, sessionsFile, storeKind } from '../../cli/src/stores.js';

/** The storage of sessions, logs and reports. */
export interface Storage {
  /** Such as `files in .x` or `Redis`. */
  readonly name: string;
  readonly workspace: Workspace;
  readonly store: SessionStore;
  close(): Promise<void>;
}

export interface StorageSettings {
  /** The directory of this machine's files. */
  readonly data: string;
  /** Whose; the files of users lie apart. Default: the one user's there is. */
  readonly user?: string | undefined;
  /** The store of sessions, and of files where it can hold them. Default: files of this machine. */
  readonly store?: { readonly name: StoreName; readonly address: string } | undefined;
}

/** Opens what the settings name; only the driver that is needed is loaded. */
export async function openStorage({ data: root, user, store }: StorageSettings): Promise<Storage> {
  const data = user === undefined ? root : userData(root, user);
  if (store === undefined) return openFiles(data);
  const { title, part, open } = storeKind(store.name);
  const prefix = user === undefined ? 'x-demo:' : `x-demo:users/${fileSegment(user)}:`;
  const opened = await open(store.address, {
    patient: true,
    createTables: true,
    // Tables hold every user's sessions by their keys; prefixes part files, too.
    part: part?.option === 'key-prefix' ? prefix : undefined,
  });
  return {
    name: opened.workspace === undefined ? `${title}, files in ${data}` : title,
    workspace: opened.workspace ?? localWorkspace(data),
    store: opened.store,
    close: opened.close,
  };
}

/** Returns the directory of one of several users. */
export function userData(data: string, user: string): string {
  return join(data, 'users', fileSegment(user));
}

/** Everything in one directory: sessions in a file of SQLite there, or in files where an earlier release kept them so. */
export function openFiles(data: string): Storage {
  const workspace = localWorkspace(data);
  const file = sessionsFile(workspace.root);
  const store = file === undefined ? new WorkspaceSession(storageOf(workspace)) : new SqliteSession({ file });
  return { name: `files in ${data}`, workspace, store, close: () => store.close() };
}

function localWorkspace(data: string): LocalWorkspace {
  const workspace = new LocalWorkspace(join(data, 'workspace'));
  workspace.check();
  return workspace;
}
