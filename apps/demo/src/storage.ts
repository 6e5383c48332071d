import { join } from 'node:path';
import { type SessionStore, storageOf, type Workspace } from '@x/core';
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

interface StorageSettings {
  /** The directory of this machine's files. */
  readonly data: string;
  /** The store of sessions, and of files where it can hold them. Default: files of this machine. */
  readonly store?: { readonly name: StoreName; readonly address: string } | undefined;
}

/** Opens what the settings name; only the driver that is needed is loaded. */
export async function openStorage({ data, store }: StorageSettings): Promise<Storage> {
  if (store === undefined) return openFiles(data);
  const { title, part, open } = storeKind(store.name);
  const opened = await open(store.address, {
    createTables: true,
    part: part?.option === 'key-prefix' ? 'x-demo:' : undefined,
  });
  return {
    name: opened.workspace === undefined ? `${title}, files in ${data}` : title,
    workspace: opened.workspace ?? localWorkspace(data),
    store: opened.store,
    close: opened.close,
  };
}

/** Opens the files in a directory: sessions in SQLite there, or in files where an earlier release kept them so. */
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
