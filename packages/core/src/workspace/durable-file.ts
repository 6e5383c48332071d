import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { constants, type FileHandle, link, mkdir, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ABSENT, errorCode } from './io-error.js';
import { moved, openPlace, type Place } from './place.js';

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = constants;
const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** Mode of new files that only this user may access. Their new parent directories get 0700. */
export const PRIVATE = 0o600;

/** Maximum number of attempts to create a directory while others remove its parents. */
const ATTEMPTS = 20;

/** Tests if a file name is that of a temporary file of {@link replaceFile}. */
export function isTemporaryName(name: string): boolean {
  return /^\.x-[0-9a-f]{24}\.tmp$/.test(name);
}

interface ReplaceOptions {
  /** Keeps an existing file: the call fails with EEXIST. */
  readonly ifAbsent?: boolean;
  /** Directory and name under which the replaced file is kept. */
  readonly kept?: { readonly directory: Place; readonly name: string };
  /** Permissions of the new file. Default: 0666 less the umask. */
  readonly mode?: number | undefined;
}

/** Creates or replaces a file atomically. Readers see the old bytes or the new ones, even after a power loss. */
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
      // Restore bits that the umask may have cleared. It usually keeps those of 0644.
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
      // Synchronous, so that no other file can take this name between the two calls and be lost.
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

/** Appends to a file, and returns when the bytes are on disk. */
export async function appendToFile(file: Place, data: string | Uint8Array): Promise<void> {
  // Non-blocking, because opening a named pipe would otherwise wait for a reader.
  const handle = await file.open(O_WRONLY | O_APPEND | O_NONBLOCK);
  try {
    await writeFully(handle, data);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Creates a file with `mode`. If the file exists, the call fails with EEXIST. */
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

/** Makes the names in a directory durable. Does nothing on Windows, which cannot open directories. */
export async function syncDirectory(directory: Place): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await directory.open(O_RDONLY);
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems do not support it.
    if (!['EINVAL', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Opens a directory below another one, and durably creates missing directories on the way. Callers must close it.
 *
 * @param mode The mode of files that will be created in it. {@link PRIVATE} makes the directory private, too.
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

/** Opens a directory and checks that its real path is `real`. */
export async function openExpected(path: string, real: string): Promise<Place> {
  const directory = await openPlace(path, O_DIRECTORY);
  if (directory.real === real) return directory;
  directory.close();
  throw moved(real);
}

function modeOfDirectory(mode: number | undefined): number {
  return mode === PRIVATE ? 0o700 : 0o777;
}

// Usually one system call, so that lines that two processes append do not mix.
async function writeFully(handle: FileHandle, data: string | Uint8Array): Promise<void> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let offset = 0; offset < bytes.length; ) {
    offset += (await handle.write(bytes, offset)).bytesWritten;
  }
}

/**
 * Creates a directory and its parents, while other processes may remove them because they are empty.
 *
 * Creates one level at a time, because Node's `recursive` option never returns if the file system reports ENOENT for an existing
 * directory, as /proc does (seen in Node 20).
 *
 * @param mode The mode of files that will be created in it. {@link PRIVATE} makes the directory private, too.
 */
export async function makeDirectory(directory: string, mode?: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await makeLevel(directory, modeOfDirectory(mode));
    } catch (error) {
      // A parent directory was removed between two steps.
      if (attempt === ATTEMPTS || !ABSENT.includes(errorCode(error) ?? '')) throw error;
    }
  }
}

async function makeLevel(directory: string, mode: number): Promise<void> {
  try {
    await mkdir(directory, mode);
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(directory)).isDirectory()) return;
    const above = dirname(directory);
    if (errorCode(error) !== 'ENOENT' || above === directory) throw error;
    await makeLevel(above, mode);
    await mkdir(directory, mode).catch(unlessMeanwhileMade);
  }
}

/** Synchronous {@link makeDirectory}, for directories that no other process removes. */
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
