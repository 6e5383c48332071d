import { randomBytes } from 'node:crypto';
import { lstat, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { errorCode, undefinedOn } from './io-error.js';
import { openPlace, type Place, REAL_DIRECTORY } from './place.js';

/**
 * Most directory levels that are open at once (`OPEN_LEVELS`), and most characters of a path below the top (`LONGEST`). Deeper directories
 * are moved to the top first.
 */
const OPEN_LEVELS = 32;
const LONGEST = 1_000;
/** Maximum number of attempts to remove a directory while others add files to it. */
const ATTEMPTS = 4;

/** Deletes a file, or a directory of any depth with its contents. Deletes a symbolic link itself, not its target. */
export async function remove(directory: Place, name: string): Promise<true> {
  await directory.verify();
  await removeEntry(directory, name, (await lstat(directory.at(name))).isDirectory());
  return true;
}

async function removeEntry(
  directory: Place,
  name: string,
  isDirectory: boolean,
  top?: Place,
  level = 0,
): Promise<void> {
  const path = directory.at(name);
  if (!isDirectory) return unlink(path);
  if (top !== undefined && (level === OPEN_LEVELS || path.length > top.self.length + LONGEST))
    return rename(path, top.at(`.x-${randomBytes(12).toString('hex')}`));
  for (let attempt = 1; ; attempt++) {
    const place = await openPlace(path, REAL_DIRECTORY);
    try {
      await empty(place, top ?? place, level + 1);
    } finally {
      place.close();
    }
    try {
      return await rmdir(path);
    } catch (error) {
      if (errorCode(error) !== 'ENOTEMPTY' || attempt === ATTEMPTS) throw error;
    }
  }
}

async function empty(directory: Place, top: Place, level: number): Promise<void> {
  const entries = await readdir(directory.self, { withFileTypes: true });
  await directory.verify();
  for (const entry of entries)
    await undefinedOn(['ENOENT'], removeEntry(directory, entry.name, entry.isDirectory(), top, level));
  // Also remove the directories that were moved to the top.
  if (directory === top && entries.some((entry) => entry.isDirectory())) await empty(directory, top, level);
}
