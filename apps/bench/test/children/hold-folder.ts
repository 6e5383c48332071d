// Takes a temporary folder and runs a program there. When it is stopped it waits for a file before it lets go.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { withTemporaryFolder } from '../../src/temporary-folder.js';

await withTemporaryFolder(async (folder, stopped) => {
  console.log(folder);
  try {
    await promisify(execFile)('sh', ['-c', 'touch started && exec sleep 600'], {
      cwd: folder,
      signal: stopped,
    });
  } finally {
    console.log('stopping');
    while (!existsSync(join(folder, 'let-go'))) await setTimeout(10);
  }
});
