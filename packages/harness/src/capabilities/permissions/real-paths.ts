import { pathSegments, type Workspace, type WorkspaceEntry, WorkspaceError } from '@x/core';
import { type PlainPath, plainPath } from './path-pattern.js';

/**
 * Finds all names of a file in a workspace: as it was given, with its symbolic links followed, and those of its hard links.
 * One serves one judgment: it lists the files, among which hard links are, once.
 */
export class RealPaths {
  readonly #workspace: Workspace;
  #files: Promise<readonly WorkspaceEntry[]> | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** @throws {WorkspaceError} when the file cannot be looked at, which a judge takes for a denial. */
  async namesOf(path: string): Promise<readonly PlainPath[]> {
    const given = plainPath(path);
    // A tool refuses these itself; where they would lead is nobody's to know.
    if (!isInside(path)) return [given, plainPath(path.replaceAll('\\', '/'))];
    if (this.#workspace.identify === undefined) return [given];
    const { path: real, links, id } = await this.#workspace.identify(path);
    const others = links > 1 ? await this.#hardLinksOf(real, id) : [];
    return [given, ...[real, ...others].map(plainPath)];
  }

  /** The names of a file as a shell finds it: `..` leads out of where a symbolic link before it has led, and not out of its name. */
  async namesInShell(path: string): Promise<readonly PlainPath[]> {
    const given = await this.namesOf(path);
    if (!path.includes('/..') || path.startsWith('/')) return given;
    let at: readonly string[] = [];
    for (const name of path.split('/').filter((each) => each !== '' && each !== '.')) {
      if (name !== '..') at = [...at, name];
      else {
        const found = at.length > 0 ? await this.#workspace.identify?.(at.join('/')) : undefined;
        // Out of the workspace.
        if (found === undefined) return given;
        at = plainPath(found.path).names.slice(0, -1);
      }
    }
    return [...given, ...(await this.namesOf(at.join('/')))];
  }

  async #hardLinksOf(path: string, id: string): Promise<readonly string[]> {
    this.#files ??= this.#listFiles();
    const files = await this.#files;
    const own = files.find((file) => file.path === path);
    const now = await this.#workspace.stat(path);
    // All names of a file have its size and its time, unless it changed meanwhile.
    const isSteady = own !== undefined && isAlike(now, own);
    const found: string[] = [];
    for (const file of files) {
      if (isSteady && !isAlike(file, own)) continue;
      if ((await this.#workspace.identify?.(file.path))?.id === id) found.push(file.path);
    }
    return found;
  }

  async #listFiles(): Promise<readonly WorkspaceEntry[]> {
    const files: WorkspaceEntry[] = [];
    for await (const entry of this.#workspace.list('', { recursive: true })) {
      if (entry.type === 'file') files.push(entry);
    }
    return files;
  }
}

function isAlike(one: WorkspaceEntry | undefined, other: WorkspaceEntry): boolean {
  return one?.size === other.size && one.modifiedAt === other.modifiedAt;
}

function isInside(path: string): boolean {
  try {
    pathSegments(path);
    return true;
  } catch (error) {
    if (WorkspaceError.isInstance(error)) return false;
    throw error;
  }
}
