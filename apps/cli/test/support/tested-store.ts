import { storageOf } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { type OpenStore, type StoreName, storeKind } from '../../src/stores.js';

/** A store that tests open, in this process or in a child of theirs. */
export interface TestedStore {
  readonly kind: StoreName | 'workspace';
  /** A directory, a file or a URL. */
  readonly address: string;
  /** The key prefix or table. */
  readonly part?: string;
}

export async function openTestedStore({ kind, address, part }: TestedStore): Promise<OpenStore> {
  if (kind !== 'workspace') return storeKind(kind).open(address, { part, createTables: true });
  return { store: new WorkspaceSession(storageOf(new LocalWorkspace(address))), close: async () => {} };
}
