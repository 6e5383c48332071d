// Takes a temporary folder and runs a program there that starts another. When it is stopped it waits for a file before it lets go.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { runProcess } from '../../src/run-process.js';
import { withTemporaryFolder } from '../../src/temporary-folder.js';

await withTemporaryFolder(async (folder, stopped) => {
  console.log(folder);
  const script = 'sleep 600 & touch started && wait';
  try {
    await runProcess('sh', ['-c', script], { cwd: folder, timeoutMs: 600_000, stopped });
  } finally {
    console.log('stopping');
    while (!existsSync(join(folder, 'let-go'))) await setTimeout(10);
  }
});
