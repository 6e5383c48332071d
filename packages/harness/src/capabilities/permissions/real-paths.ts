import { type Workspace, WorkspaceError } from '@x/core';
import type { FileIdentity } from '@x/core/internal';
import { pathSegments } from '@x/core/store';
import { type PlainPath, plainPath } from './path-pattern.js';

/** By how much the times of files may lag behind the clock. */
const CLOCK_TICK_MS = 20;

/** The names of the ends of one path: each is looked up once, since an end that begins with `..` leads to those behind it again. */
type KnownEnds = Map<string, Promise<readonly PlainPath[] | undefined>>;

/**
 * Finds all names of a file in a workspace: as it was given, with its symbolic links followed, and those of its hard links.
 * One serves one judgment: it lists the files, among which hard links are, once.
 */
export class RealPaths {
  readonly #workspace: Workspace;
  /** The paths of the files that have hard links, by their ids, and since when they were listed. */
  #listing:
    | { readonly since: number; readonly names: Promise<ReadonlyMap<string, readonly string[]>> }
    | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /**
   * @param file What the path leads to, if it is open. Default: what it leads to now.
   * @throws {WorkspaceError} when the file cannot be looked at, which a judge takes for a denial.
   */
  async namesOf(path: string, file?: FileIdentity): Promise<readonly PlainPath[]> {
    const given = plainPath(path);
    // A tool refuses these itself; where they would lead is nobody's to know.
    if (!isInside(path)) return [given, plainPath(path.replaceAll('\\', '/'))];
    const found = file ?? (await this.#workspace.identify?.(path));
    if (found === undefined) return [given];
    const others = found.links > 1 ? await this.#hardLinksOf(found) : [];
    return [given, ...[found.path, ...others].map(plainPath)];
  }

  /**
   * The names of a file as a program finds it, for which `..` leads out of where a symbolic link before it has led, and as a shell
   * does after `cd`, for which it leads out of the link's name.
   * `undefined` for what may be any file: what is there and cannot be looked at, such as a link that leads elsewhere.
   */
  async namesInShell(word: string, known: KnownEnds = new Map()): Promise<readonly PlainPath[] | undefined> {
    const given = plainPath(word);
    const steps = word.split('/').filter((name) => name !== '' && name !== '.');
    let at: readonly string[] = [];
    try {
      for (const [index, name] of steps.entries()) {
        if (name === '..') {
          // Out of the workspace, and perhaps into it again.
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

  /** The names of a file in the workspace that the end of a path names, wherever the workspace begins in it. */
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

  /** Tests for a name that the workspace takes for none of its own. */
  async #holds(directory: readonly string[], name: string): Promise<boolean> {
    for await (const { path } of this.#workspace.list(directory.join('/')))
      if (path === [...directory, name].join('/')) return true;
    return false;
  }

  async #hardLinksOf(file: FileIdentity): Promise<readonly string[]> {
    // Names of a file that changed since may have come after the listing.
    if (this.#listing === undefined || !hasNotChanged(file, this.#listing.since))
      this.#listing = { since: Date.now(), names: this.#listHardLinks() };
    const { since, names } = this.#listing;
    const found = (await names).get(file.id) ?? [];
    if (found.length >= file.links) return found;
    // Names that are missing lie outside of the workspace (a package manager's store), or moved while they were looked for.
    const now = await this.#workspace.identify?.(file.path);
    if (now?.id === file.id && hasNotChanged(now, since)) return found;
    throw new WorkspaceError(
      'refused',
      file.path,
      `${JSON.stringify(file.path)} has hard links, and changed while they were looked for. Try again.`,
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
