import { join } from 'node:path';
import { JsonSession } from '@x/core/node';
import { sessionStoreSuite } from '../../src/suites.js';
import { setFormat } from './set-format.js';
import { temporaryDirectories } from './temporary-directories.js';

const directories = temporaryDirectories();

sessionStoreSuite({
  name: 'JsonSession',
  create: async () => new JsonSession({ directory: await directories.next() }),
  reopen: () => new JsonSession({ directory: directories.current() }),
  setFormat: (key, format) =>
    setFormat(join(directories.current(), `users/u/sessions/${key.parts.sessionId}.json`), format),
});
