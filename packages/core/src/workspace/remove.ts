import { lstat, readdir, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { undefinedOn } from './io-error.js';

/** Removes a file, or a directory with all in it, however deep. */
export async function remove(file: string): Promise<true> {
  if (!(await lstat(file)).isDirectory()) await unlink(file);
  else {
    const removed = await undefinedOn(
      ['ENAMETOOLONG'],
      rm(file, { recursive: true, maxRetries: 3 }).then(() => true),
    );
    if (!removed) await removeDeep(file);
  }
  return true;
}

/** UTF-16 units of a path below a directory that is removed, from which on a folder is moved up. */
const DEEP = 1_000;

/** Removes a directory whose files lie deeper than a path may be long: what is deep is moved up first. */
async function removeDeep(directory: string): Promise<void> {
  const open = [directory];
  for (let moved = 0, next = open.pop(); next !== undefined; next = open.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      let path = join(next, entry.name);
      if (path.length > directory.length + DEEP) {
        const above = join(directory, `.x-${moved++}`);
        await rename(path, above);
        path = above;
      }
      open.push(path);
    }
  }
  await rm(directory, { recursive: true, maxRetries: 3 });
}
