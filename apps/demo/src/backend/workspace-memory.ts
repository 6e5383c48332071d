import { readText, SessionKey, sessionPrefix, type Workspace } from '@x/core';
import { MemoryService } from '@x/memory';
import { AGENT } from '../create-agent.js';
import type { MemoryFileInfo, MemoryLine, MemoryOverview, MemoryShelf } from '../server/backend.js';
import { BackendError } from '../server/errors.js';

const CORE = 'MEMORY.md';
const NOTE = /^memory\/\d{4}-\d{2}-\d{2}\.md$/;
const MAX_HITS = 50;
const SNIPPET_CHARS = 160;

interface WorkspaceMemoryOptions {
  readonly workspace: Workspace;
  /** The file of the index. */
  readonly index: string;
}

/** The memory of the demo's agent, as files of the workspace. */
export class WorkspaceMemory implements MemoryShelf {
  readonly #service: MemoryService;
  readonly #scope = { agentId: AGENT };
  readonly #prefix: string;

  constructor({ workspace, index }: WorkspaceMemoryOptions) {
    this.#service = new MemoryService({ workspace, index, withoutUser: 'shared', maintenance: false });
    this.#prefix = sessionPrefix(SessionKey.of({ ...this.#scope, sessionId: 'any' }));
  }

  async overview(): Promise<MemoryOverview> {
    return { files: await this.#files() };
  }

  async read(path: string): Promise<string> {
    // Only compared with what there is: no path of a request reaches the workspace.
    const known = (await this.#files()).some((file) => file.path === path);
    if (!known) throw new BackendError('not_found', `There is no memory file ${JSON.stringify(path)}.`);
    return readText(this.#service.storage, `${this.#prefix}${path}`);
  }

  async search(query: string): Promise<readonly MemoryLine[]> {
    const options = { limit: MAX_HITS, snippetChars: SNIPPET_CHARS };
    const { hits } = await this.#service.search(this.#scope, query, options);
    return hits.map(({ path, lineNumber, content, snippet = content }) => ({
      path: path.slice(this.#prefix.length),
      lineNumber,
      snippet,
    }));
  }

  async close(): Promise<void> {
    await this.#service.close();
  }

  async #files(): Promise<readonly MemoryFileInfo[]> {
    return (await this.#service.files(this.#scope))
      .map(({ path, size, modifiedAt }): MemoryFileInfo => {
        const kind = path === CORE ? 'core' : NOTE.test(path) ? 'note' : 'other';
        return { path, kind, size, modifiedAt };
      })
      .sort((left, right) => rank(left) - rank(right) || right.path.localeCompare(left.path));
  }
}

/** MEMORY.md, then notes, then what was archived. */
function rank({ kind }: MemoryFileInfo): number {
  return ['core', 'note', 'other'].indexOf(kind);
}
