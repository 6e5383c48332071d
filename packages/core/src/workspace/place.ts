import * as fs from 'node:fs';
import { closeSync, constants, existsSync, fstatSync, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { WorkspaceError } from '../errors/workspace-error.js';
import { errorCode } from './io-error.js';

const { O_NOFOLLOW = 0, O_DIRECTORY = 0 } = constants;
/** Open flag that locates a file without opening it for use, so devices and pipes do not react. Linux only; Node has no constant for it. */
const O_PATH = 0o10000000;
/** Directory of this process's open files on Linux. A path through a handle leads to that very file, even after a move. */
const HANDLES = '/proc/self/fd';
const DELETED = ' (deleted)';

/** Whether this platform can open files relative to the handles of their directories. */
const HAS_HANDLES = process.platform === 'linux' && existsSync(HANDLES);

/** Flags of {@link openPlace} for a directory that is not a link. */
export const REAL_DIRECTORY = O_NOFOLLOW | O_DIRECTORY;

/** A file or directory that was opened once. Operations affect this file, even if its path now leads to another one. */
export interface Place {
  /** Absolute path without links at the time of opening. */
  readonly real: string;
  /** Path of this file for system calls while it is open. */
  readonly self: string;
  /** Path of a name in this directory for system calls while it is open. */
  at(name: string): string;
  stat(): Promise<Stats>;
  /** Opens the file for use. */
  open(flags: number): Promise<FileHandle>;
  /**
   * Checks that the path still leads to this file. Does nothing if names in it are reached through a handle.
   *
   * @throws {WorkspaceError} `outside_workspace`.
   */
  verify(): Promise<void>;
  close(): void;
}

/** Locates the target of a path. Follows links, unless `flags` forbid it. */
export function openPlace(path: string, flags = 0): Promise<Place> {
  return HAS_HANDLES ? openByHandle(path, flags) : openByPath(path, flags);
}

const openFile = promisify(fs.open);

async function openByHandle(path: string, flags: number): Promise<Place> {
  const fd = await openFile(path, O_PATH | flags);
  const self = `${HANDLES}/${fd}`;
  try {
    return {
      real: pathOf(fd, self),
      self,
      at: (name) => `${self}/${name}`,
      stat: () => statHandle(fd),
      open: (use) => open(self, use),
      verify: async () => {},
      close: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

const statHandle = promisify(fs.fstat) as (fd: number) => Promise<Stats>;

/** Asks the kernel for the path of an open file, without disk access. If the path is too long, returns the handle's path. */
function pathOf(fd: number, self: string): string {
  let path: string;
  try {
    path = readlinkSync(self);
  } catch (error) {
    if (errorCode(error) !== 'ENAMETOOLONG') throw error;
    return self;
  }
  if (!path.endsWith(DELETED)) return path;
  // If the file was replaced, return its previous path. A real name may also end in " (deleted)".
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && isSame(found, fstatSync(fd)) ? path : path.slice(0, -DELETED.length);
}

/** Locates a file by its path. Compares device and inode of the opened file before it is used. */
async function openByPath(path: string, flags: number): Promise<Place> {
  const real = await realpath(path);
  const found = await lstat(real);
  const isRefused = (flags & O_NOFOLLOW) !== 0 && (await lstat(path)).isSymbolicLink();
  if (isRefused) throw moved(path);
  const verify = async (opened = found) => {
    const [now, place] = [await lstat(real), await realpath(real)];
    if (place !== real || ![now, opened].every((each) => isSame(each, found))) throw moved(real);
  };
  return {
    real,
    self: real,
    at: (name) => join(real, name),
    stat: async () => found,
    async open(use) {
      const handle = await open(real, use | O_NOFOLLOW);
      try {
        await verify(await handle.stat());
        return handle;
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    verify: () => verify(),
    close: () => {},
  };
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** Returns the error for a file that was moved or replaced during use. */
export function moved(path: string): WorkspaceError {
  // The message omits the path on this machine, because models may read it.
  const message = 'A file, or a folder above it, was moved or replaced while it was used. Try again.';
  return new WorkspaceError('outside_workspace', path, message);
}
