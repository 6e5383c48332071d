import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { JsonSession } from '@x/core/node';
import { sessionStoreSuite } from '../../src/suites.js';
import { directories, jsonStored } from './json-stored.js';
import { setFormat } from './set-format.js';

sessionStoreSuite({
  ...jsonStored,
  name: 'JsonSession',
  reopen: () => new JsonSession({ directory: directories.current() }),
  setFormat: (key, format) =>
    setFormat(join(directories.current(), `users/u/sessions/${key.parts.sessionId}.json`), format),
  damage: ({ path }) =>
    writeFile(join(directories.current(), `users/${path.userId}/sessions/${path.sessionId}.json`), '{'),
});
