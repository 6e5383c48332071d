import { accessSync, constants, opendirSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, realpath, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { WorkspaceError } from '../errors/workspace-error.js';
import { fileSegment } from '../lib/encode-segment.js';
import { errorText } from '../lib/text.js';
import { allOf, confineBelow } from './confine-workspace.js';
import { assertUnlinked, type Found, isInside, openInside, segmentsBelow } from './confined-path.js';
import {
  appendToFile,
  createFile,
  isTemporaryName,
  makeDirectory,
  makeDirectorySync,
  makeWithin,
  openExpected,
  PRIVATE,
  replaceFile,
  syncDirectory,
} from './durable-file.js';
import { withFileLock } from './file-lock.js';
import { ABSENT, errorCode, toWorkspaceError, undefinedOn } from './io-error.js';
import { entryOf, idOf, listDirectory } from './list-directory.js';
import { openPlace, type Place, REAL_DIRECTORY } from './place.js';
import { remove } from './remove.js';
import {
  type FileIdentity,
  type FileUse,
  type HeldLock,
  pathSegments,
  STORAGE,
  type Workspace,
  type WorkspaceConfine,
  type WorkspaceEntry,
} from './workspace.js';

const optionsSchema = z.strictObject({
  readOnly: z.boolean().default(false),
  hidden: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^*?/]*\*?$/, 'must be a name without / and ?, and may contain * only at its end'),
    )
    .default([]),
  private: z.boolean().default(false),
});
const rootSchema = z.string().min(1, 'must name a directory');

const { O_RDONLY, O_NONBLOCK = 0, R_OK, W_OK, X_OK } = constants;
/** The directory below the root that holds the locks. Callers cannot list, read or write it. */
const LOCKS = '.locks';
/** Maximum number of bytes per read. Larger files must be read in parts, because Node crashes if it reads 2 GiB at once. */
const MOST_BYTES = 2 ** 30;
/** Age in milliseconds (one hour) after which a temporary file counts as left by a dead process, and is deleted. */
const ABANDONED_MS = 3_600_000;
/** Maximum number of attempts of an operation while others remove or replace directories. */
const ATTEMPTS = 20;

/**
 * A directory on this machine. It is created on first use. Nothing outside of it is read or written.
 *
 * Names in `hidden` are neither listed nor reachable, at any depth, in any case, or through links. A name may end in `*`.
 *
 * With `private`, and always below a directory `.x`, new files have mode 0600 and new directories 0700.
 *
 * Symbolic links are followed if they stay inside the workspace, and rejected otherwise. From a directory `.x` on, all links are
 * rejected. On Linux this holds even while other programs swap files, folders and links: each file is opened once, then checked and
 * used through that handle. On other platforms, device and inode are compared directly before a file is read or written.
 *
 * @example
 * ```ts
 * const workspace = new LocalWorkspace('./data');
 * await workspace.write('notes/today.md', '# Today');
 * ```
 */
export class LocalWorkspace implements Workspace {
  readonly reach = 'host';
  /** Absolute path of the directory. */
  readonly root: string;
  readonly #options: z.output<typeof optionsSchema>;
  #opening: Promise<string> | undefined;
  /** Returns the directory, if this is a subtree of another workspace. */
  #placeWithin: (() => Promise<string>) | undefined;
  /** Rule that checks open files before they are used. */
  #confine: WorkspaceConfine | undefined;
  /** The workspace that opens the directory, if this is a confined view of it. */
  #same: LocalWorkspace | undefined;

  /**
   * @param root A directory, absolute or relative to the working directory.
   * @throws {InvalidInputError} for an empty root, unknown options, or a path or an unsupported pattern in `hidden`.
   */
  constructor(root: string, options: z.input<typeof optionsSchema> = {}) {
    this.root = resolve(parseWith(rootSchema, root, 'LocalWorkspace root'));
    this.#options = parseWith(optionsSchema, options, 'LocalWorkspace options');
  }

  subtree(path: string): LocalWorkspace {
    const segments = pathSegments(path);
    const root = join(this.root, ...segments);
    const tree = new LocalWorkspace(root, { ...this.#options, hidden: [...this.#options.hidden, STORAGE] });
    tree.#placeWithin = () => this.#makeTree(path, segments);
    tree.#confine = this.#confine && confineBelow(path, this.#confine);
    return tree;
  }

  confined(confine: WorkspaceConfine): LocalWorkspace | undefined {
    // A subclass may read and write differently.
    if (this.constructor !== LocalWorkspace) return undefined;
    const same = new LocalWorkspace(this.root, this.#options);
    same.#confine = allOf([this.#confine, confine]);
    same.#same = this;
    return same;
  }

  /**
   * Checks synchronously that the directory exists or can be created, and can be read and written. Every other method checks this
   * on first use.
   *
   * @throws {WorkspaceError} `workspace_io` naming the directory and what to do; `outside_workspace` if the path has a symbolic link
   * from a directory `.x` on.
   */
  check(): void {
    assertUnlinked(this.root, this.root);
    try {
      if (!this.#options.readOnly) makeDirectorySync(this.root);
      opendirSync(this.root).closeSync();
      accessSync(this.root, this.#options.readOnly ? R_OK | X_OK : R_OK | W_OK | X_OK);
    } catch (error) {
      throw this.#unusable(error);
    }
  }

  async read(
    path: string,
    range: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<Uint8Array> {
    return this.#use(path, ['read'], async ({ place, absence }) => {
      if (absence !== undefined) throw toWorkspaceError(path, absence);
      const found = await place.stat();
      if (found.isDirectory()) throw isDirectory(path);
      if (!found.isFile()) throw notAFile(path);
      const handle = await place.open(O_RDONLY | O_NONBLOCK);
      try {
        const offset = Math.max(0, range.offset ?? 0);
        const rest = Math.max(0, found.size - offset);
        const length = Math.min(rest, Math.max(0, range.length ?? rest));
        if (length > MOST_BYTES) throw tooLarge(path, length);
        return await readFully(handle, offset, length);
      } finally {
        await handle.close();
      }
    });
  }

  async write(
    path: string,
    data: string | Uint8Array,
    options: { readonly ifAbsent?: boolean } = {},
  ): Promise<void> {
    this.#assertWritable(path);
    await this.#use(path, ['write'], (found) =>
      this.#inDirectoryOf(path, found, (directory, name, mode) =>
        replaceFile(directory, name, data, { ...options, mode }),
      ),
    );
  }

  async replace(path: string, kept: string, data: string | Uint8Array): Promise<void> {
    this.#assertWritable(path);
    await this.#use(path, ['read', 'write'], async (found) => {
      if (found.absence !== undefined) throw toWorkspaceError(path, found.absence);
      await this.#use(kept, ['write'], (other) =>
        this.#inDirectoryOf(path, found, (directory, name, mode) =>
          this.#inDirectoryOf(kept, other, (to, named) =>
            replaceFile(directory, name, data, { kept: { directory: to, name: named }, mode }),
          ),
        ),
      );
    });
  }

  async append(path: string, data: string | Uint8Array): Promise<void> {
    this.#assertWritable(path);
    const add = (found: Found) =>
      found.absence === undefined
        ? appendToFile(found.place, data)
        : this.#inDirectoryOf(path, found, (directory, name, mode) =>
            createFile(directory, name, data, mode),
          );
    // Another writer may have created the file in the meantime.
    await this.#use(path, ['write'], add, { again: ['ENOENT', 'EEXIST'] });
  }

  async *list(
    path = '',
    options: { readonly recursive?: boolean } = {},
  ): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const root = await this.#open();
    const listing = {
      recursive: options.recursive ?? false,
      isHidden: (child: string, name: string, directory: Place) => this.#isHidden(child, name, directory),
      isVisible: (real: string) => isInside(root, real) && this.#isVisible(segmentsBelow(root, real)),
    };
    try {
      const { real, isThere } = await this.#use(path, [], async ({ place, absence }) => ({
        real: place.real,
        isThere: absence === undefined,
      }));
      if (isThere) yield* listDirectory(real, pathSegments(path).join('/'), listing);
    } catch (error) {
      throw toWorkspaceError(path, error);
    }
  }

  async stat(path: string): Promise<WorkspaceEntry | undefined> {
    return this.#use(path, [], async ({ place, absence }) =>
      absence === undefined ? entryOf(pathSegments(path).join('/'), await place.stat()) : undefined,
    );
  }

  async identify(path: string): Promise<FileIdentity> {
    return this.#use(path, [], async (found, root) =>
      identityOf(join(found.place.real, ...found.missing), root, await statsOf(found)),
    );
  }

  async delete(path: string): Promise<boolean> {
    this.#assertWritable(path);
    const segments = pathSegments(path);
    const name = segments.at(-1);
    if (name === undefined) {
      throw new WorkspaceError('invalid_path', path, 'The root of the workspace cannot be deleted.');
    }
    this.#assertVisible(path, segments);
    // Open the parent directory, so that deleting a symbolic link deletes the link and not its target.
    const inParent = async ({ place, absence }: Found, root: string) => {
      const own = absence === undefined && (await undefinedOn(ABSENT, lstat(place.at(name))));
      if (!own) return false;
      await this.#judge(path, ['write'], identityOf(join(place.real, name), root, own));
      const deleted = await undefinedOn(ABSENT, remove(place, name));
      if (deleted) await undefinedOn(ABSENT, syncDirectory(place));
      return deleted ?? false;
    };
    return this.#use(path, [], inParent, { at: segments.slice(0, -1).join('/') });
  }

  async lock<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<T> {
    this.#assertWritable(name);
    const root = await this.#open();
    const file = `${fileSegment(name)}.lock`;
    const place = join(root, LOCKS, file);
    const locks = await this.#openLocks(root, file).catch((error: unknown) => {
      throw toWorkspaceError(place, error);
    });
    try {
      return await withFileLock(place, task, { ...options, at: locks.at(file) });
    } finally {
      locks.close();
    }
  }

  async #openLocks(root: string, file: string): Promise<Place> {
    const path = join(root, LOCKS);
    const isLink = async (at: string) => (await undefinedOn(ABSENT, lstat(at)))?.isSymbolicLink() === true;
    if (!(await isLink(path))) {
      const locks =
        (await undefinedOn(['ENOENT'], openPlace(path, REAL_DIRECTORY))) ?? (await this.#makeLocks(root));
      if (locks.real === path && !(await isLink(locks.at(file)))) return locks;
      locks.close();
    }
    throw new WorkspaceError(
      'outside_workspace',
      LOCKS,
      `${join(path, file)} runs through a symbolic link, but locks must not be behind a link. Delete the link.`,
    );
  }

  async #makeLocks(root: string): Promise<Place> {
    const { place, missing } = await openInside(root, LOCKS, []);
    return makeWithin(place, [...missing, LOCKS], this.#modeOf(root)).finally(() => place.close());
  }

  /** Returns the mode for a new file; `undefined` means the default mode. */
  #modeOf(file: string): number | undefined {
    return this.#options.private || file.split(sep).includes(STORAGE) ? PRIVATE : undefined;
  }

  /**
   * Opens the target of a path, runs an operation on it, and converts errors.
   *
   * @param options.at Path to open instead of `path`.
   * @param options.again System error codes after which the path is opened again, because others removed or created something on it.
   */
  async #use<T>(
    path: string,
    uses: readonly FileUse[],
    operation: (found: Found, root: string) => Promise<T>,
    options: { readonly at?: string; readonly again?: readonly string[] } = {},
  ): Promise<T> {
    const { at = path, again = ['ENOENT'] } = options;
    const root = await this.#open();
    try {
      const segments = pathSegments(at);
      this.#assertVisible(path, segments);
      for (let attempt = 1; ; attempt++) {
        const found = await openInside(root, path, segments);
        try {
          // A link, or a case-insensitive file system, may lead to a file with another name.
          const real = join(found.place.real, ...found.missing);
          this.#assertVisible(path, segmentsBelow(root, real));
          if (this.#confine !== undefined && uses.length > 0)
            await this.#judge(path, uses, identityOf(real, root, await statsOf(found)));
          return await operation(found, root);
        } catch (error) {
          if (attempt === ATTEMPTS || !again.includes(errorCode(error) ?? '')) throw error;
        } finally {
          found.place.close();
        }
      }
    } catch (error) {
      throw toWorkspaceError(path, error);
    }
  }

  async #judge(path: string, uses: readonly FileUse[], file: FileIdentity): Promise<void> {
    for (const use of uses) {
      const reason = await this.#confine?.(path, use, file);
      if (reason !== undefined) throw new WorkspaceError('refused', path, reason);
    }
  }

  /** Runs an operation in the directory of a file to write. Creates the directory if it is missing. */
  async #inDirectoryOf(
    path: string,
    { place, missing }: Found,
    operation: (directory: Place, name: string, mode: number | undefined) => Promise<void>,
  ): Promise<void> {
    const file = join(place.real, ...missing);
    const old = missing.length === 0 ? await place.stat() : undefined;
    if (old?.isDirectory()) throw isDirectory(path);
    const mode = this.#modeOf(file);
    const directory =
      missing.length === 1
        ? place
        : await (old
            ? openExpected(dirname(file), dirname(file))
            : makeWithin(place, missing.slice(0, -1), mode));
    try {
      // Keep the mode of an existing file, so that a script stays executable.
      await operation(directory, basename(file), old === undefined ? mode : old.mode & 0o777);
    } finally {
      if (directory !== place) directory.close();
    }
  }

  /** Returns the real path of the root. */
  #open(): Promise<string> {
    if (this.#same) return this.#same.#open();
    this.#opening ??= this.#prepare().catch((error: unknown) => {
      this.#opening = undefined;
      throw WorkspaceError.isInstance(error) ? error : this.#unusable(error);
    });
    return this.#opening;
  }

  async #prepare(): Promise<string> {
    assertUnlinked(this.root, this.root);
    if (this.#placeWithin !== undefined) return this.#placeWithin();
    if (!this.#options.readOnly) await makeDirectory(this.root, this.#modeOf(this.root));
    return realpath(this.root);
  }

  /** Returns the real path of a subtree's directory, and creates the directory if it is missing. */
  async #makeTree(path: string, segments: readonly string[]): Promise<string> {
    const { place, missing, absence } = await openInside(await this.#open(), path, segments);
    try {
      const real = join(place.real, ...missing);
      if (absence === undefined) return real;
      if (this.#options.readOnly) throw absence;
      (await makeWithin(place, missing, this.#modeOf(real))).close();
      return real;
    } finally {
      place.close();
    }
  }

  #unusable(error: unknown): WorkspaceError {
    return new WorkspaceError(
      'workspace_io',
      this.root,
      `The workspace directory ${this.root} cannot be used: ${errorText(error)}. Create it, give this process access to ` +
        'it, or choose another directory.',
      { cause: error },
    );
  }

  #assertWritable(path: string): void {
    if (!this.#options.readOnly) return;
    throw new WorkspaceError(
      'read_only',
      path,
      `${JSON.stringify(path)} cannot be changed: the workspace ${this.root} was opened read-only.`,
    );
  }

  #assertVisible(path: string, segments: readonly string[]): void {
    if (this.#isVisible(segments)) return;
    throw new WorkspaceError(
      segments[0] === LOCKS ? 'invalid_path' : 'outside_workspace',
      path,
      `${JSON.stringify(path)} is a reserved name in this workspace. Use another name.`,
    );
  }

  #isVisible(segments: readonly string[]): boolean {
    return segments[0] !== LOCKS && !segments.some((segment) => this.#isKeptBack(segment));
  }

  #isKeptBack(segment: string): boolean {
    const name = segment.toLowerCase();
    return this.#options.hidden.some((hidden) =>
      hidden.endsWith('*')
        ? name.startsWith(hidden.slice(0, -1).toLowerCase())
        : name === hidden.toLowerCase(),
    );
  }

  /** Hides locks and temporary files. Deletes temporary files that are old enough to be abandoned. */
  async #isHidden(path: string, name: string, directory: Place): Promise<boolean> {
    if (path === LOCKS || this.#isKeptBack(name)) return true;
    if (!isTemporaryName(name)) return false;
    const file = directory.at(name);
    const found = await undefinedOn(ABSENT, lstat(file));
    if (found !== undefined && !this.#options.readOnly && Date.now() - found.mtimeMs > ABANDONED_MS) {
      await unlink(file).catch(() => {});
    }
    return true;
  }
}

async function statsOf({ place, absence }: Found): Promise<Stats | undefined> {
  return absence === undefined ? place.stat() : undefined;
}

function identityOf(real: string, root: string, found: Stats | undefined): FileIdentity {
  return {
    path: segmentsBelow(root, real).join('/'),
    id: found === undefined ? real : idOf(found),
    links: found?.isFile() ? found.nlink : 1,
    ...(found && { changedAt: found.ctimeMs }),
  };
}

/** Reads up to `length` bytes; fewer if the file ends earlier. */
async function readFully(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

function isDirectory(path: string): WorkspaceError {
  return new WorkspaceError(
    'is_directory',
    path,
    `${JSON.stringify(path)} is a directory, not a file. List it, or use the path of a file in it.`,
  );
}

function tooLarge(path: string, bytes: number): WorkspaceError {
  return new WorkspaceError(
    'workspace_io',
    path,
    `${JSON.stringify(path)}: ${bytes} bytes are more than can be read at once (${MOST_BYTES}). Read the file in parts.`,
  );
}

function notAFile(path: string): WorkspaceError {
  return new WorkspaceError(
    'invalid_path',
    path,
    `${JSON.stringify(path)} is neither a file nor a directory.`,
  );
}
