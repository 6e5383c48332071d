import { accessSync, constants, opendirSync } from 'node:fs';
import { type FileHandle, lstat, open, realpath, unlink } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { WorkspaceError } from '../errors/workspace-error.js';
import { fileSegment } from '../lib/encode-segment.js';
import { errorText } from '../lib/text.js';
import { assertUnlinked, resolveInside, segmentsBelow } from './confined-path.js';
import {
  appendToFile,
  isTemporaryName,
  makeDirectory,
  makeDirectorySync,
  makeDurableDirectory,
  PRIVATE,
  replaceFile,
  syncDirectory,
} from './durable-file.js';
import { withFileLock } from './file-lock.js';
import { ABSENT, toWorkspaceError, undefinedOn } from './io-error.js';
import { entryOf, listDirectory } from './list-directory.js';
import { remove } from './remove.js';
import { type HeldLock, pathSegments, STORAGE, type Workspace, type WorkspaceEntry } from './workspace.js';

const optionsSchema = z.strictObject({
  readOnly: z.boolean().default(false),
  hidden: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^*?/]*\*?$/, 'must be a name, without / and ?, and with * at its end alone'),
    )
    .default([]),
  private: z.boolean().default(false),
});
const rootSchema = z.string().min(1, 'must name a directory');

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, R_OK, W_OK, X_OK } = constants;
/** The directory below the root that holds the locks. Callers cannot list, read or write it. */
const LOCKS = '.locks';
/** Bytes that are read at once: Node ends the process where it is asked for 2 GiB. */
const MOST_BYTES = 2 ** 30;
/** A temporary file this old was left by a process that died. */
const ABANDONED_MS = 3_600_000;

/**
 * A directory on this machine. It is made when it is first used; nothing outside of it is read or written.
 *
 * Names in `hidden`, at any depth and in upper or lower case, are neither listed nor reached, by links either; a name may
 * end in `*`.
 *
 * With `private`, and always below a directory `.x`, what it makes is for this user alone (files 0600, directories 0700).
 *
 * Symbolic links that stay inside are followed, others are refused, as is every one from a directory `.x` on. A link that another program swaps in at the very
 * moment of an access is caught for the file itself, not for the directories above it: run programs that you do not
 * trust in a sandbox, not merely in a workspace.
 *
 * @example
 * ```ts
 * const workspace = new LocalWorkspace('./data');
 * await workspace.write('notes/today.md', '# Today');
 * ```
 */
export class LocalWorkspace implements Workspace {
  readonly reach = 'host';
  /** Absolute. */
  readonly root: string;
  readonly #options: z.output<typeof optionsSchema>;
  #opening: Promise<string> | undefined;
  /** Finds the directory, where this is a part of another workspace. */
  #placeWithin: (() => Promise<string>) | undefined;

  /**
   * @param root a directory, absolute or relative to the working directory.
   * @throws {InvalidInputError} for an empty root, unknown options, or a path or another pattern in `hidden`.
   */
  constructor(root: string, options: z.input<typeof optionsSchema> = {}) {
    this.root = resolve(parseWith(rootSchema, root, 'LocalWorkspace root'));
    this.#options = parseWith(optionsSchema, options, 'LocalWorkspace options');
  }

  subtree(path: string): LocalWorkspace {
    const root = join(this.root, ...pathSegments(path));
    const tree = new LocalWorkspace(root, { ...this.#options, hidden: [...this.#options.hidden, STORAGE] });
    tree.#placeWithin = async () => resolveInside(await this.#open(), path, pathSegments(path));
    return tree;
  }

  /**
   * Finds out at once, and synchronously, what every method finds out on first use: whether the directory is there or
   * can be made, and can be read and written.
   *
   * @throws {WorkspaceError} `workspace_io` naming the directory and what to do; `outside_workspace` for a directory in an
   * `.x` that is a symbolic link.
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
    return this.#withFile(path, async (file) => {
      // Non-blocking, or a named pipe would wait for a writer.
      const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        const found = await handle.stat();
        if (found.isDirectory()) throw isDirectory(path);
        if (!found.isFile()) throw notAFile(path);
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
    await this.#withFile(path, (file) => this.#replace(path, file, data, options));
  }

  async replace(path: string, kept: string, data: string | Uint8Array): Promise<void> {
    this.#assertWritable(path);
    await this.#withFile(path, (file) =>
      this.#withFile(kept, async (other) => {
        await makeDurableDirectory(dirname(other), this.#modeOf(other));
        await this.#replace(path, file, data, { kept: other });
      }),
    );
  }

  async append(path: string, data: string | Uint8Array): Promise<void> {
    this.#assertWritable(path);
    await this.#withFile(path, (file) => appendToFile(file, data, this.#modeOf(file)));
  }

  async *list(
    path = '',
    options: { readonly recursive?: boolean } = {},
  ): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const segments = pathSegments(path);
    const root = await this.#open();
    const listing = {
      root,
      recursive: options.recursive ?? false,
      isHidden: (child: string, file: string) => this.#isHidden(child, file),
      isVisible: (real: string) => this.#isVisible(segmentsBelow(root, real)),
    };
    try {
      yield* listDirectory(await this.#resolveInside(root, path), segments.join('/'), listing);
    } catch (error) {
      throw toWorkspaceError(path, error);
    }
  }

  async stat(path: string): Promise<WorkspaceEntry | undefined> {
    return this.#withFile(path, async (file) =>
      entryOf(pathSegments(path).join('/'), await undefinedOn(ABSENT, lstat(file))),
    );
  }

  async identify(path: string): ReturnType<NonNullable<Workspace['identify']>> {
    return this.#withFile(path, async (file) => {
      const [root, found] = [await this.#open(), await undefinedOn(ABSENT, lstat(file))];
      return {
        path: relative(root, file).split(sep).join('/'),
        id: found === undefined ? file : `${found.dev}:${found.ino}`,
        links: found?.isFile() ? found.nlink : 1,
        ...(found && { changedAt: found.ctimeMs }),
      };
    });
  }

  async delete(path: string): Promise<boolean> {
    this.#assertWritable(path);
    const segments = pathSegments(path);
    const name = segments.at(-1);
    if (name === undefined) {
      throw new WorkspaceError('invalid_path', path, 'The root of the workspace cannot be deleted.');
    }
    this.#assertVisible(path, segments);
    // The directory is resolved, not the path itself: of a symbolic link, the link is deleted.
    const parent = segments.slice(0, -1).join('/');
    const inParent = async (directory: string) => {
      const deleted = await undefinedOn(ABSENT, remove(join(directory, name)));
      if (deleted) await undefinedOn(ABSENT, syncDirectory(directory));
      return deleted ?? false;
    };
    return this.#withFile(path, inParent, parent);
  }

  async lock<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<T> {
    this.#assertWritable(name);
    const segments = [LOCKS, `${fileSegment(name)}.lock`];
    const root = await this.#open();
    const place = join(root, ...segments);
    const real = await resolveInside(root, LOCKS, segments).catch((error: unknown) => {
      throw toWorkspaceError(place, error);
    });
    if (real === place) return withFileLock(place, task, options);
    throw new WorkspaceError(
      'outside_workspace',
      LOCKS,
      `${place} runs through a symbolic link, and locks are not looked for behind links. Delete the link.`,
    );
  }

  async #replace(
    path: string,
    file: string,
    data: string | Uint8Array,
    options: { readonly ifAbsent?: boolean; readonly kept?: string },
  ): Promise<void> {
    const old = await undefinedOn(ABSENT, lstat(file));
    if (old?.isDirectory()) throw isDirectory(path);
    // A script stays executable.
    const mode = old === undefined ? this.#modeOf(file) : old.mode & 0o777;
    await replaceFile(file, data, { ...options, mode });
  }

  /** Chooses the mode of what is made at a place; that of ordinary files where it is `undefined`. */
  #modeOf(file: string): number | undefined {
    return this.#options.private || file.split(sep).includes(STORAGE) ? PRIVATE : undefined;
  }

  /** Runs an operation on the real place of `at`, and gives what goes wrong its meaning. */
  async #withFile<T>(path: string, operation: (file: string) => Promise<T>, at = path): Promise<T> {
    const root = await this.#open();
    try {
      return await operation(await this.#resolveInside(root, at));
    } catch (error) {
      throw toWorkspaceError(path, error);
    }
  }

  /** The real path of the root. */
  #open(): Promise<string> {
    this.#opening ??= this.#prepare().catch((error: unknown) => {
      this.#opening = undefined;
      throw WorkspaceError.isInstance(error) ? error : this.#unusable(error);
    });
    return this.#opening;
  }

  async #prepare(): Promise<string> {
    assertUnlinked(this.root, this.root);
    const place = (await this.#placeWithin?.()) ?? this.root;
    if (!this.#options.readOnly) await makeDirectory(place, this.#modeOf(place));
    return realpath(place);
  }

  #unusable(error: unknown): WorkspaceError {
    return new WorkspaceError(
      'workspace_io',
      this.root,
      `The workspace directory ${this.root} cannot be used: ${errorText(error)}. Make it, give this process the right to use ` +
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

  async #resolveInside(root: string, path: string): Promise<string> {
    const segments = pathSegments(path);
    this.#assertVisible(path, segments);
    const real = await resolveInside(root, path, segments);
    // A link, or a file system that folds names, may lead to what the path does not say.
    this.#assertVisible(path, segmentsBelow(root, real));
    return real;
  }

  #assertVisible(path: string, segments: readonly string[]): void {
    if (this.#isVisible(segments)) return;
    throw new WorkspaceError(
      segments[0] === LOCKS ? 'invalid_path' : 'outside_workspace',
      path,
      `${JSON.stringify(path)} is not among the files of this workspace: the name is kept back. Use another.`,
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

  /** Hides locks and temporary files. Removes a temporary file whose writer cannot be at work any more. */
  async #isHidden(path: string, file: string): Promise<boolean> {
    if (path === LOCKS || this.#isKeptBack(basename(file))) return true;
    if (!isTemporaryName(basename(file))) return false;
    const found = await undefinedOn(ABSENT, lstat(file));
    if (found !== undefined && !this.#options.readOnly && Date.now() - found.mtimeMs > ABANDONED_MS) {
      await unlink(file).catch(() => {});
    }
    return true;
  }
}

/** Fewer bytes than asked for where the file ends earlier. */
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
    `${JSON.stringify(path)} is a directory, not a file. List it, or name a file in it.`,
  );
}

function tooLarge(path: string, bytes: number): WorkspaceError {
  return new WorkspaceError(
    'workspace_io',
    path,
    `${JSON.stringify(path)}: ${bytes} bytes are more than can be read at once (${MOST_BYTES}). Read it in parts.`,
  );
}

function notAFile(path: string): WorkspaceError {
  return new WorkspaceError(
    'invalid_path',
    path,
    `${JSON.stringify(path)} is neither a file nor a directory.`,
  );
}
