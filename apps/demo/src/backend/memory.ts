import { SessionKey, type Workspace } from '@x/core';
import { sessionPrefix } from '@x/core/store';
import { MemoryService } from '@x/memory';
import { AGENT } from '../create-agent.js';
import type { MemoryFile, MemoryLine } from '../page.js';

const SEARCH = { limit: 50, snippetChars: 160 };
/** The order in which kinds of files are listed. */
const KINDS = ['core', 'note', 'other'] as const;

/** The memory of the demo's agent: `MEMORY.md`, the notes of days, archives. It reads no other file. */
export class WorkspaceMemory {
  readonly #service: MemoryService;
  readonly #scope = { agentId: AGENT };
  readonly #prefix: string;

  /** @param index The file of the full-text index. */
  constructor(workspace: Workspace, index: string) {
    this.#service = new MemoryService({ workspace, index, withoutUser: 'shared', maintenance: false });
    this.#prefix = sessionPrefix(SessionKey.of({ ...this.#scope, sessionId: 'any' }));
  }

  async files(): Promise<readonly MemoryFile[]> {
    const files = await this.#service.files(this.#scope);
    return files
      .map(({ path, ...file }) => ({
        ...file,
        path: `${this.#prefix}${path}`,
        name: path,
        kind: kindOf(path),
      }))
      .sort(
        (left, right) =>
          KINDS.indexOf(left.kind) - KINDS.indexOf(right.kind) || right.name.localeCompare(left.name),
      );
  }

  async search(query: string): Promise<readonly MemoryLine[]> {
    const { hits } = await this.#service.search(this.#scope, query, SEARCH);
    return hits.map(({ path, lineNumber, content, snippet = content }) => ({
      path,
      name: path.slice(this.#prefix.length),
      lineNumber,
      snippet,
    }));
  }

  async close(): Promise<void> {
    await this.#service.close();
  }
}

function kindOf(path: string): MemoryFile['kind'] {
  if (path === 'MEMORY.md') return 'core';
  return /^memory\/\d{4}-\d{2}-\d{2}\.md$/.test(path) ? 'note' : 'other';
}
