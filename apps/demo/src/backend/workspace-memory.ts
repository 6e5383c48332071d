import { readText, SessionKey, sessionPrefix, type Workspace } from '@x/core';
import { MemoryConsolidator, MemoryIndex } from '@x/memory';
import { AGENT } from '../create-agent.js';
import { BackendError } from '../server/backend-error.js';
import type { MemoryFileInfo, MemoryLine, MemoryOverview, MemoryShelf } from '../server/memory-shelf.js';

const CORE = 'MEMORY.md';
const NOTE = /^memory\/\d{4}-\d{2}-\d{2}\.md$/;
const MAX_HITS = 50;
const SNIPPET_CHARS = 160;

interface WorkspaceMemoryOptions {
  readonly workspace: Workspace;
  /** The file of the index. */
  readonly index: string;
  readonly userId?: string | undefined;
}

/** The memory of one user of the demo's agent, as files of the workspace. */
export class WorkspaceMemory implements MemoryShelf {
  readonly #workspace: Workspace;
  readonly #scope: { readonly agentId: string; readonly userId?: string | undefined };
  readonly #prefix: string;
  readonly #indexPath: string;
  #index: Promise<MemoryIndex> | undefined;

  constructor({ workspace, index, userId }: WorkspaceMemoryOptions) {
    this.#workspace = workspace;
    this.#indexPath = index;
    this.#scope = { agentId: AGENT, userId };
    this.#prefix = sessionPrefix(SessionKey.of({ ...this.#scope, sessionId: 'any' }));
  }

  async overview(): Promise<MemoryOverview> {
    const [files, versions] = await Promise.all([this.#files(), this.#consolidator().versions(this.#scope)]);
    return { files, versions };
  }

  async read(path: string): Promise<string> {
    // Only compared with what there is: no path of a request reaches the workspace.
    const known = (await this.#files()).some((file) => file.path === path);
    if (!known) throw new BackendError('not_found', `There is no memory file ${JSON.stringify(path)}.`);
    return readText(this.#workspace, `${this.#prefix}${path}`);
  }

  async search(query: string): Promise<readonly MemoryLine[]> {
    this.#index ??= MemoryIndex.open(this.#indexPath);
    const index = await this.#index;
    await index.indexAllFromWorkspace(this.#workspace, { prefix: this.#prefix });
    const hits = await index.search(query, {
      prefix: this.#prefix,
      sources: ['memory'],
      limit: MAX_HITS,
      snippetChars: SNIPPET_CHARS,
    });
    return hits.map(({ path, lineNumber, content, snippet = content }) => ({
      path: path.slice(this.#prefix.length),
      lineNumber,
      snippet,
    }));
  }

  async restore(versionId: string): Promise<void> {
    await this.#consolidator().restore(this.#scope, versionId);
  }

  async close(): Promise<void> {
    const index = await this.#index;
    this.#index = undefined;
    index?.close();
  }

  async #files(): Promise<readonly MemoryFileInfo[]> {
    const files: MemoryFileInfo[] = [];
    const core = await this.#workspace.stat(`${this.#prefix}${CORE}`);
    if (core?.type === 'file') files.push({ ...core, path: CORE, kind: 'core' });
    for await (const entry of this.#workspace.list(`${this.#prefix}memory`, { recursive: true })) {
      const path = entry.path.slice(this.#prefix.length);
      const hidden = path.split('/').some((segment) => segment.startsWith('.'));
      if (entry.type !== 'file' || hidden || !path.endsWith('.md')) continue;
      files.push({ ...entry, path, kind: NOTE.test(path) ? 'note' : 'other' });
    }
    return files
      .map(({ path, kind, size, modifiedAt }) => ({ path, kind, size, modifiedAt }))
      .sort((left, right) => rank(left) - rank(right) || right.path.localeCompare(left.path));
  }

  #consolidator(): MemoryConsolidator {
    return new MemoryConsolidator({ workspace: this.#workspace, model: null });
  }
}

/** MEMORY.md, then notes, then what was archived. */
function rank({ kind }: MemoryFileInfo): number {
  return ['core', 'note', 'other'].indexOf(kind);
}
