import { join } from 'node:path';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { sessionStoreSuite } from '../../src/suites.js';
import { setFormat } from './set-format.js';
import { temporaryDirectories } from './temporary-directories.js';

const directories = temporaryDirectories();

sessionStoreSuite({
  name: 'WorkspaceSession',
  create: async () => new WorkspaceSession(new LocalWorkspace(await directories.next())),
  reopen: () => new WorkspaceSession(new LocalWorkspace(directories.current())),
  setFormat: (key, format) =>
    setFormat(join(directories.current(), `users/u/context/${key.parts.sessionId}/head.json`), format),
});
