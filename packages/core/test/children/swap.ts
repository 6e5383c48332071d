// Swaps two names in a directory until it is killed.
import { renameSync } from 'node:fs';
import { join } from 'node:path';

const [directory = '', ...names] = process.argv.slice(2);
const [one = '', other = '', between = ''] = [...names, 'between'].map((name) => join(directory, name));
let strays = 0;

console.log('swapping');
for (;;) {
  renameSync(one, between);
  try {
    renameSync(other, one);
  } catch {
    // Someone has made one of this name meanwhile.
    renameSync(one, join(directory, `stray-${strays++}`));
    renameSync(other, one);
  }
  renameSync(between, other);
}
