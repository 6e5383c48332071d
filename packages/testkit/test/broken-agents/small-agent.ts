import { execFile } from 'node:child_process';
import { mkdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  assistantMessage,
  type JsonObject,
  type Message,
  type Model,
  openSession,
  type RuntimeContext,
  readText,
  SessionKey,
  type SessionStore,
  type ToolUseBlock,
  toolResultMessage,
  userMessage,
  type Workspace,
  WorkspaceError,
} from '@x/core';
import { isObject, takeTurn } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { pathSegments } from '@x/core/store';

/** What is wrong with an agent; without any it is sound. */
export interface Holes {
  /** Sessions are told by their id alone. */
  readonly sessionsOfAll?: boolean;
  /** Searches look into the notes of all users. */
  readonly searchesAll?: boolean;
  /** Tenants are left out of paths. */
  readonly tenantless?: boolean;
  /** A path that begins with `.x/` is one of the storage. */
  readonly opensStorage?: boolean;
  /** A call takes no lease on its session. */
  readonly takesNoLease?: boolean;
  /** A session begins anew with each call. */
  readonly forgets?: boolean;
  /** Commands run, and a file is opened by a path that was checked some time ago. */
  readonly followsSwaps?: boolean;
}

const text = (...names: readonly string[]): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: [...names],
});
const annotations = { readOnly: true, destructive: false };
const TOOLS: readonly ToolDefinition[] = [
  { name: 'write_file', description: 'Writes', inputSchema: text('path', 'content') },
  { name: 'read_file', description: 'Reads', inputSchema: text('path'), annotations },
  { name: 'search', description: 'Searches', inputSchema: text('word'), annotations },
];
const EXECUTE: ToolDefinition = {
  name: 'execute',
  description: 'Runs',
  inputSchema: text('command'),
  annotations: { readOnly: false, destructive: true },
};
/** How often an agent looks for a link at a path. In between, the other session has swapped it many times. */
const LOOKS = 2_000;

/** Reads what a path leads to as soon as it leads out of the owner's folder. */
async function readSwapped(folder: string, path: string): Promise<string> {
  for (let look = 0; look < LOOKS; look++) {
    const real = await realpath(join(folder, path)).catch(() => folder);
    if (!real.startsWith(folder)) return readFile(real, 'utf8');
  }
  return readFile(join(folder, path), 'utf8');
}

/** What these agents do with files, without a disk: holes are theirs, and not its. */
export function filesInMemory(): Workspace {
  const files = new Map<string, Uint8Array>();
  const at = (path: string) => pathSegments(path).join('/');
  const part: Partial<Workspace> = {
    async read(path) {
      const found = files.get(at(path));
      if (found === undefined) throw new WorkspaceError('not_found', path, `${path} does not exist.`);
      return found;
    },
    async write(path, data) {
      files.set(at(path), typeof data === 'string' ? new TextEncoder().encode(data) : data);
    },
    async *list() {
      for (const [path, { length: size }] of files) yield { path, type: 'file', size, modifiedAt: '' };
    },
  };
  return part as Workspace;
}

/** The smallest agent that keeps sessions and files: the suite has to tell its holes from what is sound. */
export function smallAgent(model: Model, storage: Workspace, holes: Holes = {}, store?: SessionStore) {
  const sessions = new Map<string, Message[]>();
  const tools = holes.followsSwaps ? [...TOOLS, EXECUTE] : TOOLS;
  const ownerOf = ({ tenantId = '-', sessionId, userId = `-/${sessionId}` }: RuntimeContext) =>
    `${holes.tenantless ? '' : `tenants/${tenantId}/`}users/${userId}/`;

  async function run({ name, input }: ToolUseBlock, owner: string): Promise<string> {
    const values = (isObject(input) ? input : {}) as Record<string, string>;
    const { path = '', content = '', word = '', command = '' } = values;
    const folder = join((storage as { readonly root?: string }).root ?? '', owner);
    // The command that swaps files is the only one that may run, because there is no sandbox.
    if (name === 'execute' && command.startsWith('{ mkdir')) {
      await mkdir(folder, { recursive: true });
      await promisify(execFile)('sh', ['-c', command], { cwd: folder }).catch(() => {});
    }
    if (name === 'write_file') await storage.write(`${owner}${path}`, content);
    if (name === 'read_file') {
      const opened = holes.opensStorage && path.startsWith('.x/') ? path.slice(3) : `${owner}${path}`;
      // A path is joined by its text: the workspace refuses what leads out, and `..` must not lead to another.
      if (opened.split('/').includes('..')) throw new Error('No.');
      if (holes.followsSwaps && path.startsWith('swaps/l/')) return readSwapped(folder, path);
      return readText(storage, opened);
    }
    if (name !== 'search') return 'Done.';
    const found: string[] = [];
    for await (const entry of storage.list('', { recursive: true })) {
      if (entry.type !== 'file' || !(holes.searchesAll || entry.path.startsWith(owner))) continue;
      const whole = await readText(storage, entry.path);
      if (word !== '' && whole.includes(word)) found.push(whole);
    }
    return found.map((each) => each.slice(0, 200)).join('\n');
  }

  return {
    async call(input: string, context: RuntimeContext): Promise<unknown> {
      const owner = ownerOf(context);
      const key = `${holes.sessionsOfAll ? '' : owner}${context.sessionId}`;
      const release = store && !holes.takesNoLease ? await leased(store, context) : undefined;
      const messages = (holes.forgets ? undefined : sessions.get(key)) ?? [];
      sessions.set(key, messages);
      messages.push(userMessage(input));
      for (;;) {
        const { content } = await model.generate({ messages, tools });
        messages.push(assistantMessage([...content]));
        const uses = content.filter((block) => block.type === 'tool_use');
        if (uses.length === 0) break;
        for (const use of uses) {
          const output = await run(use, owner).catch((error: unknown) => {
            if (WorkspaceError.isInstance(error) || error instanceof Error) return error.message;
            throw error;
          });
          messages.push(toolResultMessage(use, output));
        }
      }
      const last = JSON.stringify(messages);
      await storage.write(`${owner}log-${context.sessionId}.json`, last);
      await release?.();
      return { text: 'Done.' };
    },
    close: async () => {},
  };
}

/** Takes the turn of a session and stores the session. Returns what gives the turn back. */
async function leased(store: SessionStore, { tenantId, userId, sessionId = '' }: RuntimeContext) {
  const key = SessionKey.of({ tenantId, userId, agentId: 'small', sessionId });
  const turn = await takeTurn(store, key);
  await (await openSession(turn.guard(store), key, { fence: turn.fence })).commit();
  return () => turn.release();
}
