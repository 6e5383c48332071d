import { type Workspace, WorkspaceError } from '@x/core';
import { pathSegments, type WorkspaceEntry } from '@x/core/store';
import { type PlainPath, plainPath } from './path-pattern.js';

/** Files that are looked at to find the names of one that has hard links: more would hold up every call for seconds. */
const MAX_ALIKE = 5_000;
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
  /** The paths of the files of one size and time, and since when they were listed. */
  #listing:
    | { readonly since: number; readonly files: Promise<ReadonlyMap<string, readonly string[]>> }
    | undefined;
  /** Those paths by the ids of the files. */
  readonly #names = new Map<string, Promise<ReadonlyMap<string, readonly string[]>>>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** @throws {WorkspaceError} when the file cannot be looked at, which a judge takes for a denial. */
  async namesOf(path: string): Promise<readonly PlainPath[]> {
    const given = plainPath(path);
    // A tool refuses these itself; where they would lead is nobody's to know.
    if (!isInside(path)) return [given, plainPath(path.replaceAll('\\', '/'))];
    if (this.#workspace.identify === undefined) return [given];
    const { path: real, links } = await this.#workspace.identify(path);
    const others = links > 1 ? await this.#hardLinksOf(real) : [];
    return [given, ...[real, ...others].map(plainPath)];
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

  async #hardLinksOf(path: string): Promise<readonly string[]> {
    this.#listing ??= { since: Date.now(), files: this.#listFiles() };
    const { since, files: listed } = this.#listing;
    const files = await listed;
    const now = likenessOf(await this.#workspace.stat(path));
    const { id, links, changedAt } = (await this.#workspace.identify?.(path)) ?? { id: '', links: 0 };
    const alike = files.get(now);
    // All names of a file have its size and its time, unless it changed meanwhile.
    const isSteady =
      alike?.includes(path) === true && changedAt !== undefined && changedAt < since - CLOCK_TICK_MS;
    const candidates = isSteady ? alike : [...files.values()].flat();
    const refused = (why: string) =>
      new WorkspaceError('refused', path, `${JSON.stringify(path)} has hard links, ${why}`);
    if (candidates.length > MAX_ALIKE) {
      throw refused(`which may be any of ${candidates.length} files; ${MAX_ALIKE} can be looked at.`);
    }
    const names = (isSteady ? this.#names.get(now) : undefined) ?? this.#identify(candidates);
    if (isSteady) this.#names.set(now, names);
    const found = (await names).get(id) ?? [];
    // Names that are missing lie outside of the workspace (a package manager's store), or moved while they were looked for.
    if (!isSteady && found.length < links)
      throw refused('and changed while they were looked for. Try again.');
    return found;
  }

  async #identify(paths: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const names = new Map<string, string[]>();
    for (const path of paths) {
      // What has a name that is none here is judged where it is named.
      const found = isInside(path) ? await this.#workspace.identify?.(path) : undefined;
      if (found)
        names
          .set(found.id, names.get(found.id) ?? [])
          .get(found.id)
          ?.push(path);
    }
    return names;
  }

  async #listFiles(): Promise<ReadonlyMap<string, readonly string[]>> {
    const files = new Map<string, string[]>();
    for await (const entry of this.#workspace.list('', { recursive: true })) {
      if (entry.type !== 'file') continue;
      const key = likenessOf(entry);
      files
        .set(key, files.get(key) ?? [])
        .get(key)
        ?.push(entry.path);
    }
    return files;
  }
}

function likenessOf(entry: WorkspaceEntry | undefined): string {
  return `${entry?.size} ${entry?.modifiedAt}`;
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
