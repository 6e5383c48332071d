import { pathSegments, type Workspace, WorkspaceError } from '@x/core';
import { type PlainPath, plainPath } from './path-pattern.js';

/**
 * Finds all names of a file in a workspace: as it was given, with its symbolic links followed, and those of its hard links.
 * One serves one judgment: it looks for hard links once.
 */
export class RealPaths {
  readonly #workspace: Workspace;
  #linked: Promise<ReadonlyMap<string, readonly string[]>> | undefined;

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
    const others = links > 1 ? ((await this.#hardLinks()).get(id) ?? []) : [];
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

  #hardLinks(): Promise<ReadonlyMap<string, readonly string[]>> {
    this.#linked ??= this.#findHardLinks();
    return this.#linked;
  }

  async #findHardLinks(): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, readonly string[]>();
    for await (const { type, path } of this.#workspace.list('', { recursive: true })) {
      if (type !== 'file') continue;
      const file = await this.#workspace.identify?.(path);
      if (file && file.links > 1) found.set(file.id, [...(found.get(file.id) ?? []), file.path]);
    }
    return found;
  }
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
