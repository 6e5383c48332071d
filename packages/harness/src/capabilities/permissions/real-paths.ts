import { type Workspace, WorkspaceError } from '@x/core';
import type { FileIdentity } from '@x/core/internal';
import { pathSegments } from '@x/core/store';
import { type PlainPath, plainPath } from './path-pattern.js';

/** Milliseconds by which file times may lag behind the clock. */
const CLOCK_TICK_MS = 20;

/** Cache of the names that were found for the last steps (the end) of one path. With several `..`, the same ends occur again. */
type KnownEnds = Map<string, Promise<readonly PlainPath[] | undefined>>;

/**
 * Finds all names of a file in a workspace: the given path, its target after symbolic links, and its hard links. Use
 * one instance per judgment, because the listing of hard links is cached.
 */
export class RealPaths {
  readonly #workspace: Workspace;
  /** Paths of hard-linked files by file id, and the time of the listing. */
  #listing:
    | { readonly since: number; readonly names: Promise<ReadonlyMap<string, readonly string[]>> }
    | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /**
   * @param file Identity of the open file. Default: the file that the path leads to now.
   * @throws {WorkspaceError} if the file cannot be inspected, which counts as a denial.
   */
  async namesOf(path: string, file?: FileIdentity): Promise<readonly PlainPath[]> {
    const given = plainPath(path);
    // The tool itself rejects such a path, so its target does not matter.
    if (!isInside(path)) return [given, plainPath(path.replaceAll('\\', '/'))];
    const found = file ?? (await this.#workspace.identify?.(path));
    if (found === undefined) return [given];
    const others = found.links > 1 ? await this.#hardLinksOf(found) : [];
    return [given, ...[found.path, ...others].map(plainPath)];
  }

  /**
   * Returns the names of a file as commands see it. For a program, `..` leaves the target of a symbolic link; for a
   * shell after `cd`, `..` leaves the link's own directory. Returns `undefined` if the path may mean any file, such as
   * a link that leads out of the workspace.
   */
  async namesInShell(word: string, known: KnownEnds = new Map()): Promise<readonly PlainPath[] | undefined> {
    const given = plainPath(word);
    const steps = word.split('/').filter((name) => name !== '' && name !== '.');
    let at: readonly string[] = [];
    try {
      for (const [index, name] of steps.entries()) {
        if (name === '..') {
          // The path leaves the workspace and may lead back into it.
          if (at.length === 0) return this.#namesOfAny(given, steps.slice(index + 1), known);
          const found = await this.#workspace.identify?.(at.join('/'));
          at = plainPath(found?.path ?? '').names;
          if (at.length === 0) return this.#namesOfAny(given, steps.slice(index + 1), known);
          at = at.slice(0, -1);
        } else if (isInside([...at, name].join('/'))) at = [...at, name];
        else return (await this.#holds(at, name)) ? undefined : [given];
      }
      const [real, named] = [at, given.names].map((names) => names.join('/'));
      const others = real === named || given.absolute ? [] : await this.namesOf(named ?? '');
      return [given, ...(await this.namesOf(real ?? '')), ...others];
    } catch (error) {
      const isThere =
        WorkspaceError.isInstance(error) && ['outside_workspace', 'refused'].includes(error.code);
      return isThere ? undefined : [given];
    }
  }

  /** Returns the names of a file if the workspace may begin at any step of the path. */
  async #namesOfAny(
    given: PlainPath,
    steps: readonly string[],
    known: KnownEnds,
  ): Promise<readonly PlainPath[] | undefined> {
    const found = steps.map((_, index) => {
      const end = steps.slice(index).join('/');
      const names = known.get(end) ?? this.namesInShell(end, known);
      known.set(end, names);
      return names;
    });
    const names = await Promise.all(found);
    return names.includes(undefined)
      ? undefined
      : [...new Set([given, ...names.flatMap((each) => each ?? [])])];
  }

  /** Tests if a directory lists a name that is not a valid workspace path. */
  async #holds(directory: readonly string[], name: string): Promise<boolean> {
    for await (const { path } of this.#workspace.list(directory.join('/')))
      if (path === [...directory, name].join('/')) return true;
    return false;
  }

  async #hardLinksOf(file: FileIdentity): Promise<readonly string[]> {
    // A file that changed after the listing may have new names.
    if (this.#listing === undefined || !hasNotChanged(file, this.#listing.since))
      this.#listing = { since: Date.now(), names: this.#listHardLinks() };
    const { since, names } = this.#listing;
    const found = (await names).get(file.id) ?? [];
    if (found.length >= file.links) return found;
    // Missing names are outside the workspace (a package manager's store), or files moved during the listing.
    const now = await this.#workspace.identify?.(file.path);
    if (now?.id === file.id && hasNotChanged(now, since)) return found;
    throw new WorkspaceError(
      'refused',
      file.path,
      `${JSON.stringify(file.path)} has hard links, and changed during the search for them. Try again.`,
    );
  }

  async #listHardLinks(): Promise<ReadonlyMap<string, readonly string[]>> {
    const names = new Map<string, string[]>();
    for await (const { path, hardLinked } of this.#workspace.list('', { recursive: true })) {
      if (hardLinked === undefined) continue;
      const known = names.get(hardLinked) ?? [];
      names.set(hardLinked, known);
      known.push(path);
    }
    return names;
  }
}

function hasNotChanged({ changedAt }: FileIdentity, since: number): boolean {
  return changedAt !== undefined && changedAt < since - CLOCK_TICK_MS;
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
