// Reads and appends to a file of a workspace while the process cannot open more files, and prints the errors.
import { openSync } from 'node:fs';
import { WorkspaceError } from '../../src/index.js';
import { LocalWorkspace } from '../../src/node.js';

const [directory = ''] = process.argv.slice(2);
const workspace = new LocalWorkspace(directory);
await workspace.append('.x/notes.md', 'before\n');
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  const read = () => workspace.read('.x/notes.md');
  const append = () => workspace.append('.x/new/notes.md', 'lost\n');
  for (const use of [read, append]) {
    const error: unknown = await use().catch((thrown: unknown) => thrown);
    if (WorkspaceError.isInstance(error)) process.stdout.write(`${error.code} ${error.isTransient}\n`);
  }
}
