import { chmodSync, mkdirSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;

/**
 * Lets this process and its children keep temporary files in memory, where the machine has 4 GB of room for them: tests
 * of stores sync each small file, and would wait for the disk half of their time. Does nothing where `TMPDIR` is set.
 */
export function keepTemporaryFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || freemem() < 2 * ROOM) return;
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < ROOM) return;
    // One for all runs of all users: their servers claim ports by the names of directories in it.
    const directory = `${MEMORY}/x-tests`;
    if (mkdirSync(directory, { recursive: true }) !== undefined) chmodSync(directory, 0o1777);
    process.env.TMPDIR = directory;
  } catch {
    // No such file system, or not for this user: the disk will do.
  }
}
