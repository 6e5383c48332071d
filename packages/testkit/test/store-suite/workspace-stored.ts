import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { packFiles, unpackFiles } from '../../../../tooling/test-support/src/stored-files.js';
import type { StoredData } from '../../../../tooling/test-support/src/stored-suite.js';
import type { SessionStoreSuiteOptions } from '../../src/store-suite/store-suite.js';
import { setFormat } from './set-format.js';
import { temporaryDirectories } from './temporary-directories.js';

const directories = temporaryDirectories();

const create = async () => new WorkspaceSession(new LocalWorkspace(await directories.next()));

/** What the store suite needs to test `WorkspaceSession`. */
export const workspaceOptions: SessionStoreSuiteOptions = {
  name: 'WorkspaceSession',
  create,
  reopen: () => new WorkspaceSession(new LocalWorkspace(directories.current())),
  setFormat: (key, format) =>
    setFormat(join(directories.current(), `users/u/context/${key.parts.sessionId}/head.json`), format),
  damage: ({ path }) =>
    writeFile(join(directories.current(), `users/${path.userId}/context/${path.sessionId}/head.json`), '{'),
};

/** What a folder has stored, as one text. */
export const workspaceStored: StoredData = {
  fixture: fileURLToPath(new URL('../../../core/fixtures/stored/1/workspace-session.json', import.meta.url)),
  create,
  dump: () => packFiles(directories.current()),
  random: /(?<=segment-|head-|incarnation\W+)[0-9a-f]{16}\b/g,
  restore: async (dump) => {
    const directory = await directories.next();
    unpackFiles(directory, dump);
    return new WorkspaceSession(new LocalWorkspace(directory));
  },
};
