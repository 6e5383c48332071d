import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, statSync } from 'node:fs';
import {
  constants,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  rename,
  stat,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { digest } from '../lib/digest.js';
import { ABSENT, errorCode, undefinedOn } from './io-error.js';

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** The mode of new files that are for this user alone; new directories on the way to one are 0700. */
export const PRIVATE = 0o600;

/** Bounds retries while others remove the directory over and over. */
const ATTEMPTS = 20;

/** Tests for the name of a file that {@link replaceFile} was still writing. */
export function isTemporaryName(name: string): boolean {
  return /^\.x-[0-9a-f]{24}\.tmp$/.test(name);
}

/** The beginning of the names of a file's temporary files. */
function temporaryNamesOf(file: string): string {
  return `.x-${digest(basename(file)).slice(0, 12)}`;
}

/** Removes what a writer of a file that was killed has left. Only where nobody writes the file. */
export async function removeTemporaries(file: string): Promise<void> {
  const directory = dirname(file);
  const names = (await undefinedOn(ABSENT, readdir(directory))) ?? [];
  for (const name of names)
    if (isTemporaryName(name) && name.startsWith(temporaryNamesOf(file)))
      await undefinedOn(ABSENT, unlink(join(directory, name)));
}

/**
 * Replaces or creates a file so that readers, and a machine that loses power, see the old bytes or the new ones; with
 * `ifAbsent` an existing file is left alone and the call fails with EEXIST.
 *
 * @param options `mode`: the permissions of the new file; by default those that new files have. `kept`: another name for the
 *   file that is replaced.
 */
export async function replaceFile(
  file: string,
  data: string | Uint8Array,
  options: { readonly ifAbsent?: boolean; readonly kept?: string; readonly mode?: number | undefined } = {},
): Promise<void> {
  const directory = dirname(file);
  const temporary = join(directory, `${temporaryNamesOf(file)}${randomBytes(6).toString('hex')}.tmp`);
  const { mode = 0o666 } = options;
  const handle = await openBelow(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    try {
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
    } else if (options.kept !== undefined) {
      // Nothing in between: a file that somebody put in its place by then would be lost.
      linkSync(file, options.kept);
      renameSync(temporary, file);
      await syncDirectory(dirname(options.kept));
    } else await rename(temporary, file);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(directory);
}

/** Adds to the end of a file, or creates it with `mode`, and returns once the bytes are on the disk. */
export async function appendToFile(file: string, data: string | Uint8Array, mode?: number): Promise<void> {
  const directory = dirname(file);
  // Non-blocking, or a named pipe would wait for a reader.
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  const handle = await openBelow(directory, file, flags, mode);
  let created: boolean;
  try {
    created = (await handle.stat()).size === 0;
    await writeFully(handle, data);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  if (created) await syncDirectory(directory);
}

/** Makes the names in a directory durable. Platforms that cannot open directories do it by themselves. */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems do not know how.
    if (!['EINVAL', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await handle.close();
  }
}

/** Opens a file, making its directory when that is what is missing. */
async function openBelow(directory: string, file: string, flags: number, mode = 0o666): Promise<FileHandle> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open(file, flags, mode);
    } catch (error) {
      // Again when another process removed the empty directory in between.
      if (errorCode(error) !== 'ENOENT' || attempt === ATTEMPTS) throw error;
      await makeDurableDirectory(directory, mode);
    }
  }
}

/** {@link makeDirectory}, with all that it made durable. */
export async function makeDurableDirectory(directory: string, mode?: number): Promise<void> {
  const first = await makeDirectory(directory, mode);
  if (first === undefined) return;
  const top = dirname(first);
  for (let parent = dirname(directory); parent.length >= top.length; parent = dirname(parent)) {
    await undefinedOn(ABSENT, syncDirectory(parent));
    if (parent === top) return;
  }
}

// One system call as a rule, so that lines from two processes that append do not mix.
async function writeFully(handle: FileHandle, data: string | Uint8Array): Promise<void> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let offset = 0; offset < bytes.length; ) {
    offset += (await handle.write(bytes, offset)).bytesWritten;
  }
}

/**
 * Makes a directory with those above it, while others may be removing them because they are empty. Answers the topmost
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
      return await makeLevel(directory, mode === PRIVATE ? 0o700 : 0o777);
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

function unlessMeanwhileMade(error: unknown): void {
  if (errorCode(error) !== 'EEXIST') throw error;
}
