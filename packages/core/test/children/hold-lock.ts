// Takes a lock, says so, and holds it until it is killed.
import { withFileLock } from '../../src/workspace/file-lock.js';

const [path = ''] = process.argv.slice(2);

await withFileLock(path, async () => {
  console.log('held');
  await new Promise((resolve) => process.stdin.on('end', resolve).resume());
});
