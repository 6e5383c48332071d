import * as fs from 'node:fs';
import { closeSync, constants, existsSync, fstatSync, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { WorkspaceError } from '../errors/workspace-error.js';
import { errorCode } from './io-error.js';

const { O_NOFOLLOW = 0, O_DIRECTORY = 0 } = constants;
/** Finds a file without opening it for any use: no device notices, no pipe waits. Linux only; Node does not name it. */
const O_PATH = 0o10000000;
/** Where Linux shows the open files of a process: a path through a handle leads to that very file, wherever it was moved. */
const HANDLES = '/proc/self/fd';
const DELETED = ' (deleted)';

/** Returns whether this platform opens files by the handles of the directories that hold them. */
const HAS_HANDLES = process.platform === 'linux' && existsSync(HANDLES);

/** Flags of {@link openPlace} for a directory that is not a link. */
export const REAL_DIRECTORY = O_NOFOLLOW | O_DIRECTORY;

/** A file or a directory that was found once. What is done through it is done to this very file, whatever its path leads to by now. */
export interface Place {
  /** Where it was when it was opened: an absolute path without links. */
  readonly real: string;
  /** A path of it for calls of the system, as long as it is open. */
  readonly self: string;
  /** A path of a name in this directory for calls of the system, as long as it is open. */
  at(name: string): string;
  stat(): Promise<Stats>;
  /** Opens the file for a use. */
  open(flags: number): Promise<FileHandle>;
  /**
   * Checks that its path still leads to it, where names in it are reached by that path.
   *
   * @throws {WorkspaceError} `outside_workspace`.
   */
  verify(): Promise<void>;
  close(): void;
}

/** Finds what a path leads to. Follows links, unless `flags` say otherwise. */
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

/** Asks the kernel where an open file is, which takes no look at any disk. A path that is too long for that leads nowhere. */
function pathOf(fd: number, self: string): string {
  let path: string;
  try {
    path = readlinkSync(self);
  } catch (error) {
    if (errorCode(error) !== 'ENAMETOOLONG') throw error;
    return self;
  }
  if (!path.endsWith(DELETED)) return path;
  // A file that was replaced since is the one that was there. A name may end like that, too.
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && isSame(found, fstatSync(fd)) ? path : path.slice(0, -DELETED.length);
}

/** Finds a file by its path, and compares device and inode of what was opened before it is used. */
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

/** The error for what was moved or replaced while it was used. */
export function moved(path: string): WorkspaceError {
  // Where it is on this machine is nothing for a model.
  const message = 'A file, or a folder above it, was moved or replaced while it was used. Try again.';
  return new WorkspaceError('outside_workspace', path, message);
}
