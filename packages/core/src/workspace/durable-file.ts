import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { constants, type FileHandle, link, mkdir, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ABSENT, errorCode } from './io-error.js';
import { moved, openPlace, type Place } from './place.js';

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = constants;
const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** The mode of new files that are for this user alone; new directories on the way to one are 0700. */
export const PRIVATE = 0o600;

/** Bounds retries while others remove the directory over and over. */
const ATTEMPTS = 20;

/** Tests for the name of a file that {@link replaceFile} was still writing. */
export function isTemporaryName(name: string): boolean {
  return /^\.x-[0-9a-f]{24}\.tmp$/.test(name);
}

interface ReplaceOptions {
  /** Leaves an existing file alone: the call fails with EEXIST. */
  readonly ifAbsent?: boolean;
  /** Another directory and a name in it that the file that is replaced keeps. */
  readonly kept?: { readonly directory: Place; readonly name: string };
  /** The permissions of the new file. Default: those that new files have. */
  readonly mode?: number | undefined;
}

/** Replaces or creates a file so that readers, and a machine that loses power, see the old bytes or the new ones. */
export async function replaceFile(
  directory: Place,
  name: string,
  data: string | Uint8Array,
  options: ReplaceOptions = {},
): Promise<void> {
  const file = directory.at(name);
  const temporary = directory.at(`.x-${randomBytes(12).toString('hex')}.tmp`);
  const { mode = 0o666, kept } = options;
  await directory.verify();
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    try {
      await directory.verify();
      // Bits that the umask may have taken away; those of an ordinary file it does not.
      if (options.mode !== undefined && (mode & ~0o644) !== 0) await handle.chmod(mode);
      await writeFully(handle, data);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (options.ifAbsent) {
      await link(temporary, file);
      await unlink(temporary);
    } else if (kept !== undefined) {
      // Nothing in between: a file that someone put in its place by then would be lost.
      linkSync(file, kept.directory.at(kept.name));
      renameSync(temporary, file);
      await syncDirectory(kept.directory);
    } else await rename(temporary, file);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(directory);
}

/** Adds to the end of a file, and returns once the bytes are on the disk. */
export async function appendToFile(file: Place, data: string | Uint8Array): Promise<void> {
  // Non-blocking, or a named pipe would wait for a reader.
  const handle = await file.open(O_WRONLY | O_APPEND | O_NONBLOCK);
  try {
    await writeFully(handle, data);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Creates a file with `mode`. If there is one, the call fails with EEXIST. */
export async function createFile(
  directory: Place,
  name: string,
  data: string | Uint8Array,
  mode?: number,
): Promise<void> {
  await directory.verify();
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW;
  const handle = await open(directory.at(name), flags, mode);
  try {
    await directory.verify();
    await writeFully(handle, data);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await syncDirectory(directory);
}

/** Makes the names in a directory durable. Platforms that cannot open directories do it by themselves. */
export async function syncDirectory(directory: Place): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await directory.open(O_RDONLY);
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems do not know how.
    if (!['EINVAL', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Opens a directory below another one, and makes those on the way that are missing, durably. Close it.
 *
 * @param mode The mode of the files that are to be in it: {@link PRIVATE} makes it private, too.
 */
export async function makeWithin(place: Place, names: readonly string[], mode?: number): Promise<Place> {
  let directory = await openExpected(place.self, place.real);
  for (const name of names) {
    try {
      await directory.verify();
      const isMade = await mkdir(directory.at(name), modeOfDirectory(mode)).then(
        () => true,
        unlessMeanwhileMade,
      );
      if (isMade) await syncDirectory(directory);
      const next = await openExpected(directory.at(name), join(directory.real, name));
      directory.close();
      directory = next;
    } catch (error) {
      directory.close();
      throw error;
    }
  }
  return directory;
}

/** Opens a directory that has to be at a place. */
export async function openExpected(path: string, real: string): Promise<Place> {
  const directory = await openPlace(path, O_DIRECTORY);
  if (directory.real === real) return directory;
  directory.close();
  throw moved(real);
}

function modeOfDirectory(mode: number | undefined): number {
  return mode === PRIVATE ? 0o700 : 0o777;
}

// One system call as a rule, so that lines from two processes that append do not mix.
async function writeFully(handle: FileHandle, data: string | Uint8Array): Promise<void> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let offset = 0; offset < bytes.length; ) {
    offset += (await handle.write(bytes, offset)).bytesWritten;
  }
}

/**
 * Makes a directory with those above it, while others may be removing them because they are empty. Returns the topmost
 * one that it made, if any.
 *
 * One level at a time: Node's own `recursive` never returns where the file system answers ENOENT for a directory that
 * exists, as /proc does (seen in Node 20).
 *
 * @param mode The mode of the files that are to be in it: {@link PRIVATE} makes it private, too.
 */
export async function makeDirectory(directory: string, mode?: number): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await makeLevel(directory, modeOfDirectory(mode));
    } catch (error) {
      // A directory above that was removed between two steps.
      if (attempt === ATTEMPTS || !ABSENT.includes(errorCode(error) ?? '')) throw error;
    }
  }
}

async function makeLevel(directory: string, mode: number): Promise<string | undefined> {
  try {
    await mkdir(directory, mode);
    return directory;
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(directory)).isDirectory()) return undefined;
    const above = dirname(directory);
    if (errorCode(error) !== 'ENOENT' || above === directory) throw error;
    const topmost = await makeLevel(above, mode);
    await mkdir(directory, mode).catch(unlessMeanwhileMade);
    return topmost ?? directory;
  }
}

/** {@link makeDirectory}, synchronously and for directories that are never removed. */
export function makeDirectorySync(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && statSync(directory).isDirectory()) return;
    const above = dirname(directory);
    if (errorCode(error) !== 'ENOENT' || above === directory) throw error;
    makeDirectorySync(above);
    mkdirSync(directory);
  }
}

function unlessMeanwhileMade(error: unknown): false {
  if (errorCode(error) !== 'EEXIST') throw error;
  return false;
}
