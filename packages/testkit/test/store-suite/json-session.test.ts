import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JsonSession } from '@x/core/node';
import { packFiles, sessionStoreSuite, unpackFiles } from '../../src/suites.js';
import { setFormat } from './set-format.js';
import { temporaryDirectories } from './temporary-directories.js';

const directories = temporaryDirectories();

sessionStoreSuite({
  name: 'JsonSession',
  create: async () => new JsonSession({ directory: await directories.next() }),
  reopen: () => new JsonSession({ directory: directories.current() }),
  stored: {
    formats: [1],
    fixture: (format) =>
      fileURLToPath(new URL(`../../../core/fixtures/stored/${format}/json-session.json`, import.meta.url)),
    dump: () => packFiles(directories.current()),
    restore: async (dump) => {
      const directory = await directories.next();
      unpackFiles(directory, dump);
      return new JsonSession({ directory });
    },
  },
  setFormat: (key, format) =>
    setFormat(join(directories.current(), `users/u/sessions/${key.parts.sessionId}.json`), format),
});
