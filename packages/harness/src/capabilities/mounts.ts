import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { WorkspaceError } from '@x/core';

/** Open flag that locates a file without opening it for use. Linux only; Node has no constant for it. */
const O_PATH = 0o10000000;

/** The error for a path that another command has replaced since it was found. */
const REPLACED =
  'A folder was moved or replaced while the sandbox was started, so the command did not run. Try again.';

/** A path to mount on itself, as it was found. */
export interface Mount {
  readonly path: string;
  readonly inode: string;
  /** The number of the inode that `stat` shows. On overlays, it may differ. */
  readonly statInode: bigint;
  /** The path below the working directory, in the notation of `/proc/self/mountinfo`. */
  readonly listed: string;
  /** The open file. Callers must close it. */
  readonly handle: number;
}

/**
 * Opens paths to mount. On systems other than Linux, returns none.
 *
 * @throws {WorkspaceError} `outside_workspace` if a path is a symbolic link, or leads through one below the working directory.
 */
export function openMounts(cwd: string, paths: readonly string[]): readonly Mount[] {
  if (process.platform !== 'linux' || paths.length === 0) return [];
  const root = realpathSync(cwd);
  const mounts: Mount[] = [];
  try {
    for (const path of paths) {
      const handle = openSync(path, O_PATH | constants.O_NOFOLLOW);
      const found = fstatSync(handle, { bigint: true });
      const [, inode = `${found.ino}`] =
        /^ino:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${handle}`, 'utf8')) ?? [];
      const listed = relative(cwd, path).replaceAll(/[ \t\n\\]/g, octal);
      mounts.push({ path, handle, inode, statInode: found.ino, listed });
      const real = readlinkSync(`/proc/self/fd/${handle}`);
      if (found.isSymbolicLink() || real !== join(root, relative(cwd, path))) throw new Error(REPLACED);
    }
    return mounts;
  } catch (cause) {
    closeMounts(mounts);
    throw new WorkspaceError('outside_workspace', cwd, REPLACED, { cause });
  }
}

function octal(char: string): string {
  return `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`;
}

export function closeMounts(mounts: readonly Mount[]): void {
  for (const { handle } of mounts) closeSync(handle);
}

/**
 * Returns shell lines that check mounts in a sandbox, and a line to run as `$line`. Their arguments are the line and `checkedPaths`. A running
 * command can replace a folder by a link to any place of this machine at any time, so it may have redirected a mount. Each path must be the
 * file that was found, on a mount of its own. It is opened once, or looked up in the list of mounts if the command may not read it.
 */
export function checkOf(mounts: readonly Mount[]): readonly string[] {
  if (mounts.length === 0) return ['line=$1'];
  return [
    'line=$1',
    // The kernel shows inodes here since version 5.14. A `stat` for each path would take longer than most commands.
    'inspect() { inode=; while read -r key value; do case $key in mnt_id:) mount=$value;; ino:) inode=$value;; esac; done < /proc/self/fdinfo/3',
    '[ -n "$inode" ] || inode=$(command -p stat -L -c %i /proc/self/fd/3); }',
    '{ inspect; } 3< .; own=$mount',
    'look_up() { mount=$own; [ "$(command -p stat -c %i "$1")" != "${found#*:}" ] || inode=${found%:*}',
    'while read -r id _ _ _ at _; do [ "$id" != "$own" ] || base=$at; [ "$at" != "$base/$2" ] || mount=$id; done < /proc/self/mountinfo; }',
    `for found in ${mounts.map(({ inode, statInode }) => `${inode}:${statInode}`).join(' ')}; do`,
    'shift; inode=',
    // Opening a pipe would wait for a writer.
    '{ [ -f "$1" ] || [ -d "$1" ]; } && { inspect; } 2> /dev/null 3< "$1"',
    '[ -n "$inode" ] || look_up "$1" "$2" 2> /dev/null',
    `[ "$inode" = "\${found%:*}" ] && [ "$mount" != "$own" ] || { echo '${REPLACED}'; exit 126; }`,
    'shift; done',
  ];
}

/** Returns arguments for {@link checkOf}. */
export function checkedPaths(mounts: readonly Mount[]): readonly string[] {
  return mounts.flatMap(({ path, listed }) => [path, listed]);
}
