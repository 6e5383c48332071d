import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import type { SessionStoreSuiteOptions } from '../../src/store-suite/store-suite.js';
import { packFiles, unpackFiles } from '../../src/stored-files.js';
import { setFormat } from './set-format.js';
import { temporaryDirectories } from './temporary-directories.js';

const directories = temporaryDirectories();

/** What the store suite needs to test `WorkspaceSession`. */
export const workspaceStored = {
  name: 'WorkspaceSession',
  create: async () => new WorkspaceSession(new LocalWorkspace(await directories.next())),
  reopen: () => new WorkspaceSession(new LocalWorkspace(directories.current())),
  stored: {
    formats: [1],
    fixture: (format) =>
      fileURLToPath(
        new URL(`../../../core/fixtures/stored/${format}/workspace-session.json`, import.meta.url),
      ),
    dump: () => packFiles(directories.current()),
    random: /(?<=segment-|head-|incarnation\W+)[0-9a-f]{16}\b/g,
    restore: async (dump) => {
      const directory = await directories.next();
      unpackFiles(directory, dump);
      return new WorkspaceSession(new LocalWorkspace(directory));
    },
  },
  setFormat: (key, format) =>
    setFormat(join(directories.current(), `users/u/context/${key.parts.sessionId}/head.json`), format),
  damage: ({ path }) =>
    writeFile(join(directories.current(), `users/${path.userId}/context/${path.sessionId}/head.json`), '{'),
} satisfies SessionStoreSuiteOptions;
