import { LocalWorkspace } from '@x/core/node';
import { workspaceSuite } from '../../src/suites.js';
import { temporaryDirectories } from '../store-suite/temporary-directories.js';

const directories = temporaryDirectories();

workspaceSuite({
  name: 'LocalWorkspace',
  create: async () => new LocalWorkspace(await directories.next()),
  reopen: () => new LocalWorkspace(directories.current()),
});
