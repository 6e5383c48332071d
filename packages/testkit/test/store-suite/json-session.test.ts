import { JsonSession } from '@x/core/node';
import { sessionStoreSuite } from '../../src/suites.js';
import { temporaryDirectories } from './temporary-directories.js';

const directories = temporaryDirectories();

sessionStoreSuite({
  name: 'JsonSession',
  create: async () => new JsonSession({ directory: await directories.next() }),
  reopen: () => new JsonSession({ directory: directories.current() }),
});
