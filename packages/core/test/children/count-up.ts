// Increments the number in a file, under a lock.
import { readFile, writeFile } from 'node:fs/promises';
import { withFileLock } from '../../src/workspace/file-lock.js';

const [lock = '', file = '', times = '0'] = process.argv.slice(2);

for (let time = 0; time < Number(times); time++) {
  await withFileLock(
    lock,
    async () => {
      const count = Number(await readFile(file, 'utf8'));
      await writeFile(file, `${count + 1}`);
    },
    { timeoutMs: 60_000 },
  );
}
