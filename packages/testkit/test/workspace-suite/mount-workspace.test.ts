import { join } from 'node:path';
import { mountWorkspace, type Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { workspaceSuite } from '../../src/suites.js';
import { temporaryDirectories } from '../store-suite/temporary-directories.js';

const directories = temporaryDirectories();

async function mounted(): Promise<Workspace> {
  const directory = await directories.next();
  const repo = new LocalWorkspace(join(directory, 'repo'));
  return mountWorkspace(new LocalWorkspace(join(directory, 'base')), { repo });
}

workspaceSuite({
  name: 'what is in a mount',
  create: async () => below(await mounted(), 'repo'),
});

/** A directory of a workspace as one of its own. */
function below(workspace: Workspace, directory: string): Workspace {
  const at = (path: string) => `${directory}/${path}`;
  const outer = directory.length + 1;
  return {
    reach: workspace.reach,
    read: (path, range) => workspace.read(at(path), range),
    write: (path, data, options) => workspace.write(at(path), data, options),
    append: (path, data) => workspace.append(at(path), data),
    delete: (path) => workspace.delete(at(path)),
    stat: async (path) => {
      const entry = await workspace.stat(at(path));
      return entry && { ...entry, path: entry.path.slice(outer) };
    },
    async *list(path = '', options) {
      for await (const entry of workspace.list(at(path), options)) {
        yield { ...entry, path: entry.path.slice(outer) };
      }
    },
    ...(workspace.lock && { lock: workspace.lock.bind(workspace) }),
  };
}
