import { chmodSync, mkdirSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;

/**
 * Sets `TMPDIR` to a folder in memory for this process and its children, if the machine has 4 GB of space there. Tests of
 * stores sync many small files, and would wait for the disk half of the time. Does nothing if `TMPDIR` is set.
 */
export function keepTemporaryFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || freemem() < 2 * ROOM) return;
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < ROOM) return;
    // All runs of all users share this folder, because servers claim ports by creating directories in it.
    const directory = `${MEMORY}/x-tests`;
    if (mkdirSync(directory, { recursive: true }) !== undefined) chmodSync(directory, 0o1777);
    process.env.TMPDIR = directory;
  } catch {
    // The file system does not exist, or this user may not write to it: keep the files on disk.
  }
}
