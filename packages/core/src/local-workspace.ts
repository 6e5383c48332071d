import { accessSync, constants, mkdirSync, opendirSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rm, stat, unlink } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { z } from 'zod';
import { appendToFile, isTemporaryName, replaceFile, syncDirectory } from './durable-file.js';
import { fileSegment } from './encode-segment.js';
import { WorkspaceError } from './errors/workspace-error.js';
import { withFileLock } from './file-lock.js';
import { ABSENT, toWorkspaceError, unless } from './io-error.js';
import { parseWith } from './parse.js';
import type { HeldLock, Workspace, WorkspaceEntry } from './workspace.js';
import { pathSegments } from './workspace-path.js';

const optionsSchema = z.strictObject({ readOnly: z.boolean().default(false) });
const rootSchema = z.string().min(1, 'must name a directory');

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, R_OK, W_OK, X_OK } = constants;
/** The directory below the root that holds the locks. It is nobody's to list, read or write. */
const LOCKS = '.locks';
/** A temporary file this old was left by a process that died. */
const ABANDONED_MS = 3_600_000;

/**
 * A directory on this machine. It is made when it is first used; nothing outside of it is read or written.
 *
 * Symbolic links that stay inside are followed, others are refused. A link that another program swaps in at the very
 * moment of an access is caught for the file itself, not for the directories above it: run programs that you do not
 * trust in a sandbox, not merely in a workspace.
 */
export class LocalWorkspace implements Workspace {
  readonly reach = 'host';
  /** Absolute. */
  readonly root: string;
  readonly #readOnly: boolean;
  #opening: Promise<string> | undefined;

  /**
   * @param root a directory, absolute or relative to the working directory.
   * @throws {InvalidInputError} for an empty root or unknown options.
   */
  constructor(root: string, options: { readonly readOnly?: boolean | undefined } = {}) {
    this.root = resolve(parseWith(rootSchema, root, 'LocalWorkspace root'));
    this.#readOnly = parseWith(optionsSchema, options, 'LocalWorkspace options').readOnly;
  }

  /**
   * Finds out at once, and synchronously, what every method finds out on first use: whether the directory is there or
   * can be made, and can be read and written.
   *
   * @throws {WorkspaceError} `workspace_io` naming the directory and what to do.
   */
  check(): void {
    try {
      if (!this.#readOnly) mkdirSync(this.root, { recursive: true });
      opendirSync(this.root).closeSync();
      accessSync(this.root, this.#readOnly ? R_OK | X_OK : R_OK | W_OK | X_OK);
    } catch (error) {
      throw this.#unusable(error);
    }
  }

  async read(
    path: string,
    range: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<Uint8Array> {
    return this.#attempt(path, async (file) => {
      // Non-blocking, or a named pipe would wait for somebody to write into it.
      const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        const found = await handle.stat();
        if (found.isDirectory()) throw isDirectory(path);
        if (!found.isFile()) throw notAFile(path);
        const offset = Math.max(0, range.offset ?? 0);
        const rest = Math.max(0, found.size - offset);
        return await readFully(handle, offset, Math.min(rest, Math.max(0, range.length ?? rest)));
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
    await this.#attempt(path, async (file) => {
      const old = await unless(ABSENT, lstat(file));
      if (old?.isDirectory()) throw isDirectory(path);
      // A script stays executable.
      const mode = old === undefined ? undefined : old.mode & 0o7777;
      await replaceFile(file, data, { ...options, mode });
    });
  }

  async append(path: string, data: string | Uint8Array): Promise<void> {
    this.#assertWritable(path);
    await this.#attempt(path, (file) => appendToFile(file, data));
  }

  async *list(
    path = '',
    options: { readonly recursive?: boolean } = {},
  ): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const directory = await this.#attempt(path, async (real) => real);
    yield* this.#listDirectory(directory, pathSegments(path).join('/'), options.recursive ?? false);
  }

  async stat(path: string): Promise<WorkspaceEntry | undefined> {
    return this.#attempt(path, (file) => entryOf(file, pathSegments(path).join('/')));
  }

  async delete(path: string): Promise<boolean> {
    this.#assertWritable(path);
    const segments = pathSegments(path);
    const name = segments.at(-1);
    if (name === undefined) {
      throw new WorkspaceError('invalid_path', path, 'The root of the workspace cannot be deleted.');
    }
    assertNotReserved(path, segments);
    // The directory is resolved, not the path itself: of a symbolic link, the link is deleted.
    return this.#attempt(segments.slice(0, -1).join('/'), async (directory) => {
      const target = join(directory, name);
      const found = await unless(ABSENT, lstat(target));
      if (found === undefined) return false;
      if (found.isDirectory()) await rm(target, { recursive: true, force: true, maxRetries: 3 });
      else if (
        (await unless(
          ABSENT,
          unlink(target).then(() => true),
        )) === undefined
      )
        return false;
      await unless(ABSENT, syncDirectory(directory));
      return true;
    });
  }

  async lock<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<T> {
    this.#assertWritable(name);
    const root = await this.#open();
    return withFileLock(join(root, LOCKS, `${fileSegment(name)}.lock`), task, options);
  }

  /** Runs an operation on the real place of `path`, and gives what goes wrong its meaning. */
  async #attempt<T>(path: string, operation: (file: string) => Promise<T>): Promise<T> {
    const root = await this.#open();
    try {
      return await operation(await locate(root, path));
    } catch (error) {
      throw toWorkspaceError(path, error);
    }
  }

  /** The real path of the root. */
  #open(): Promise<string> {
    this.#opening ??= this.#prepare().catch((error: unknown) => {
      this.#opening = undefined;
      throw this.#unusable(error);
    });
    return this.#opening;
  }

  async #prepare(): Promise<string> {
    if (!this.#readOnly) await mkdir(this.root, { recursive: true });
    return realpath(this.root);
  }

  #unusable(error: unknown): WorkspaceError {
    const reason = error instanceof Error ? error.message : String(error);
    return new WorkspaceError(
      'workspace_io',
      this.root,
      `The workspace directory ${this.root} cannot be used: ${reason}. Make it, give this process the right to use ` +
        'it, or choose another directory.',
      { cause: error },
    );
  }

  #assertWritable(path: string): void {
    if (!this.#readOnly) return;
    throw new WorkspaceError(
      'read_only',
      path,
      `${JSON.stringify(path)} cannot be changed: the workspace ${this.root} was opened read-only.`,
    );
  }

  async *#listDirectory(
    directory: string,
    path: string,
    recursive: boolean,
  ): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const names = (await unless(ABSENT, readdir(directory))) ?? [];
    // In the order of whole paths, what lies in `a` comes behind `a.txt`: the contents have a place of their own.
    const places = recursive ? names.flatMap((name) => [name, `${name}/`]) : names;
    const directories = new Set<string>();
    for (const place of places.sort()) {
      const name = place.endsWith('/') ? place.slice(0, -1) : place;
      const file = join(directory, name);
      const childPath = path === '' ? name : `${path}/${name}`;
      if (place !== name) {
        if (directories.has(name)) yield* this.#listDirectory(file, childPath, recursive);
        continue;
      }
      if (childPath === LOCKS || (isTemporaryName(name) && (await this.#passOver(file)))) continue;
      const found = await unless(ABSENT, lstat(file));
      if (found?.isDirectory()) directories.add(name);
      const inside = !found?.isSymbolicLink() || (await leadsInside(await this.#open(), file));
      const entry = inside ? await entryOf(file, childPath) : undefined;
      if (entry !== undefined) yield entry;
    }
  }

  /** Leaves a temporary file out, and removes it when its writer cannot be at work any more. */
  async #passOver(file: string): Promise<true> {
    const found = await unless(ABSENT, lstat(file));
    if (found !== undefined && !this.#readOnly && Date.now() - found.mtimeMs > ABANDONED_MS) {
      await unlink(file).catch(() => {});
    }
    return true;
  }
}

/**
 * Where a path really is: its deepest part that exists, with links followed, and what is still missing below it.
 *
 * @throws {WorkspaceError} when that is not in `root`.
 */
async function locate(root: string, path: string): Promise<string> {
  const segments = pathSegments(path);
  assertNotReserved(path, segments);
  for (let depth = segments.length; depth > 0; depth--) {
    const real = await unless(ABSENT, realpath(join(root, ...segments.slice(0, depth))));
    if (real === undefined) continue;
    if (!isInside(root, real)) throw leadsOut(path);
    return below(path, real, segments.slice(depth));
  }
  return below(path, root, segments);
}

/** A link that leads nowhere yet is one through which a file could be made anywhere. */
async function below(path: string, directory: string, missing: readonly string[]): Promise<string> {
  const next = missing[0];
  if (next !== undefined) {
    const found = await unless(ABSENT, lstat(join(directory, next)));
    if (found?.isSymbolicLink()) throw leadsOut(path);
  }
  return join(directory, ...missing);
}

async function leadsInside(root: string, link: string): Promise<boolean> {
  const real = await unless([...ABSENT, 'ELOOP'], realpath(link));
  return real !== undefined && isInside(root, real);
}

function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
}

async function entryOf(file: string, path: string): Promise<WorkspaceEntry | undefined> {
  const found = await unless(ABSENT, stat(file));
  if (!found?.isFile() && !found?.isDirectory()) return undefined;
  const type = found.isFile() ? 'file' : 'directory';
  return { path, type, size: found.isFile() ? found.size : 0, modifiedAt: found.mtime.toISOString() };
}

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

function assertNotReserved(path: string, segments: readonly string[]): void {
  if (segments[0] !== LOCKS) return;
  throw new WorkspaceError('invalid_path', path, `"${LOCKS}" is where the workspace keeps its locks.`);
}

function leadsOut(path: string): WorkspaceError {
  return new WorkspaceError(
    'outside_workspace',
    path,
    `${JSON.stringify(path)} runs through a symbolic link that leads out of the workspace, or nowhere.`,
  );
}

function isDirectory(path: string): WorkspaceError {
  return new WorkspaceError(
    'is_directory',
    path,
    `${JSON.stringify(path)} is a directory, not a file. List it, or name a file in it.`,
  );
}

function notAFile(path: string): WorkspaceError {
  return new WorkspaceError(
    'invalid_path',
    path,
    `${JSON.stringify(path)} is neither a file nor a directory.`,
  );
}
