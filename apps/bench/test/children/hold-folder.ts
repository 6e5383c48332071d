// Takes a temporary folder, starts a program there that starts another, and waits for both.
import { runProcess } from '../../src/run-process.js';
import { withTemporaryFolder } from '../../src/temporary-folder.js';

await withTemporaryFolder(async (folder, stopped) => {
  process.stdout.write(`${folder}\n`);
  const script = 'sleep 600 & touch started && wait';
  await runProcess('sh', ['-c', script], { cwd: folder, timeoutMs: 600_000, stopped });
});
