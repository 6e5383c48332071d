import { fileURLToPath } from 'node:url';
import { JsonSession } from '@x/core/node';
import { packFiles, unpackFiles } from '../../src/stored-files.js';
import type { StoreSuiteStored } from '../../src/suites.js';
import { temporaryDirectories } from './temporary-directories.js';

export const directories = temporaryDirectories();

const stored: StoreSuiteStored = {
  formats: [1],
  fixture: (format) =>
    fileURLToPath(new URL(`../../../core/fixtures/stored/${format}/json-session.json`, import.meta.url)),
  dump: () => packFiles(directories.current()),
  restore: async (dump) => {
    const directory = await directories.next();
    unpackFiles(directory, dump);
    return new JsonSession({ directory });
  },
};

export const jsonStored = {
  create: async () => new JsonSession({ directory: await directories.next() }),
  stored,
};
