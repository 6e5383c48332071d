import { type Workspace, WorkspaceError } from '@x/core';
import { parseWith, STORAGE } from '@x/core/internal';
import { type HeldLock, operationId, pathSegments, type WorkspaceEntry } from '@x/core/store';
import type * as z from 'zod';
import { backendSchema } from '../options.js';
import type { RedisValue } from '../redis-client.js';
import {
  deleteScript,
  forgetNamesScript,
  listScript,
  readScript,
  statScript,
  writeScript,
} from '../scripts/files.js';
import { patientClient, runScript, type ScriptClient } from '../scripts/run-script.js';
import { isLog } from './log-path.js';
import { withRedisLock } from './redis-lock.js';
import { type Mode, RedisLogs } from './redis-logs.js';
import { asWorkspaceError, type Refusal, refused } from './workspace-failure.js';
import { WorkspaceKeys } from './workspace-keys.js';

/** Maximum bytes of a name: the limit of common file systems, so that files can be copied to one. */
const MAX_NAME_BYTES = 255;

/** Options of a `RedisWorkspace`. */
export type RedisWorkspaceOptions = Readonly<z.input<typeof backendSchema>>;

/**
 * Stores files in Redis that the replicas of an agent share: memory, logs, evicted results, and sessions of `WorkspaceSession`. Every
 * operation except `list` is atomic, and usually one round trip.
 *
 * A workspace is on one master of a Cluster, because a file and its parent directories change together. To spread tenants, use one
 * prefix per tenant. The log of a session is stored with the session of a `RedisSession` that has the same prefix, and expires with
 * it. A file may have up to 512 MB. Writes are as durable as Redis is configured to keep them; set `appendfsync always` if no write
 * may be lost.
 *
 * @throws {InvalidInputError} for unknown or invalid options.
 */
export class RedisWorkspace implements Workspace {
  readonly reach = 'cluster';
  readonly #client: ScriptClient;
  readonly #impatient: ScriptClient;
  readonly #keys: WorkspaceKeys;
  readonly #logs: RedisLogs;

  constructor(options: RedisWorkspaceOptions) {
    const { client, keyPrefix } = parseWith(backendSchema, options, 'RedisWorkspace options');
    // Every write has an id, so a repeated script writes once.
    this.#client = patientClient(client);
    this.#keys = new WorkspaceKeys(keyPrefix);
    // For session logs: the agent itself retries writes to its log until it is interrupted.
    this.#impatient = client;
    this.#logs = new RedisLogs(client, keyPrefix);
  }

  async read(
    path: string,
    range: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<Uint8Array> {
    const segments = segmentsOf(path);
    if (segments.length === 0) throw refused(path, 'is_directory');
    const offset = String(Math.max(0, range.offset ?? 0));
    const length = range.length === undefined ? '' : String(Math.max(0, range.length));
    const name = segments.join('/');
    return asWorkspaceError(path, async () => {
      const logged = isLog(name) ? await this.#logs.read(name, [offset, length]) : undefined;
      if (logged !== undefined) return logged;
      const values = [offset, length, ...segments];
      const reply = await runScript(this.#client, readScript, this.#keys.along(segments), values);
      if (Array.isArray(reply)) return reply[0] as Uint8Array;
      // After a log has expired, its name remains in the directory for a while.
      const isEnded = isLog(name) && String(reply) === 'workspace_io';
      throw refused(path, isEnded ? 'not_found' : (String(reply) as Refusal));
    });
  }

  async write(
    path: string,
    data: string | Uint8Array,
    options: { readonly ifAbsent?: boolean } = {},
  ): Promise<void> {
    await this.#store(path, options.ifAbsent ? 'new' : 'write', data);
  }

  async append(path: string, data: string | Uint8Array): Promise<void> {
    await this.#store(path, 'append', data);
  }

  /** Lists entries, sorted by path. Each directory is read as one snapshot. */
  async *list(
    path = '',
    options: { readonly recursive?: boolean } = {},
  ): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const segments = segmentsOf(path);
    const entries = await asWorkspaceError(path, () => this.#entries(segments));
    // Whole paths sort `a.txt` before `a/b`, so the contents of a directory get their own sort key.
    const places = new Map(entries.map((entry) => [entry.path, entry]));
    const directories = entries.filter(({ type }) => options.recursive && type === 'directory');
    const below = new Set(directories.map((entry) => `${entry.path}/`));
    for (const place of [...places.keys(), ...below].sort()) {
      const entry = places.get(place);
      if (entry !== undefined) yield entry;
      else yield* this.list(place, options);
    }
  }

  async stat(path: string): Promise<WorkspaceEntry | undefined> {
    const segments = segmentsOf(path);
    if (segments.length === 0) return entryOf('', `d0`, 0);
    const name = segments.join('/');
    return asWorkspaceError(path, async () => {
      const log = (await this.#logs.stat([name])).get(name);
      if (log !== undefined) return entryOf(name, `f${log.time}`, log.size);
      const reply = await runScript(this.#client, statScript, this.#keys.along(segments), segments);
      if (!Array.isArray(reply)) return undefined;
      const entry = entryOf(name, String(reply[0]), Number(reply[1]));
      return this.#isEnded(entry) ? undefined : entry;
    });
  }

  async delete(path: string): Promise<boolean> {
    const segments = segmentsOf(path);
    if (segments.length === 0) {
      throw new WorkspaceError('invalid_path', path, 'The root of the workspace cannot be deleted.');
    }
    const keys = [...this.#keys.along(segments), this.#keys.directory(segments)];
    const name = segments.join('/');
    return asWorkspaceError(path, async () => {
      // Delete logs first: after a crash there may be names without logs, but no logs without names.
      const logs: string[] = [];
      if (segments[0] === STORAGE) {
        for await (const entry of this.list(name, { recursive: true })) logs.push(entry.path);
        if (isLog(name) && (await this.stat(name)) !== undefined) logs.push(name);
        await this.#logs.delete(logs);
      }
      const removed = await runScript(this.#client, deleteScript, keys, segments);
      if (!Array.isArray(removed)) return false;
      await this.#logs.delete(removed.map((rest) => name + rest));
      return !isLog(name) || logs.length > 0;
    });
  }

  async lock<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<T> {
    return withRedisLock(this.#impatient, this.#keys.lock(name), name, task, options.timeoutMs);
  }

  async #store(path: string, mode: Mode, data: string | Uint8Array): Promise<void> {
    const segments = segmentsOf(path);
    if (segments.length === 0) throw refused(path, 'is_directory');
    const name = segments.join('/');
    const value = asValue(data);
    const reply = await asWorkspaceError(path, async () => {
      if (!isLog(name)) return this.#put(this.#client, segments, mode, value);
      const begin = () => this.#put(this.#impatient, segments, 'name', '');
      return this.#logs.write(name, mode, value, begin);
    });
    if (reply !== undefined) throw refused(path, reply);
  }

  async #put(client: ScriptClient, segments: readonly string[], mode: Mode | 'name', value: RedisValue) {
    const keys = [this.#keys.operation, ...this.#keys.along(segments)];
    const values = [mode, operationId(), value, ...segments];
    const reply = await runScript(client, writeScript, keys, values);
    return reply == null ? undefined : (String(reply) as Refusal);
  }

  async #entries(segments: readonly string[]): Promise<WorkspaceEntry[]> {
    // With an empty file name, this is the prefix of the keys of all files in the directory.
    const files = this.#keys.file([...segments, '']);
    const reply = await runScript(this.#client, listScript, [this.#keys.directory(segments), files], []);
    const [found = [], sizes = []] = reply as unknown[][];
    const entries = sizes.map((size, index) => {
      const path = [...segments, String(found[2 * index])].join('/');
      return entryOf(path, String(found[2 * index + 1]), Number(size));
    });
    const named = entries.filter((entry) => this.#isEnded(entry)).map(({ path }) => path);
    if (named.length === 0) return entries;
    const logs = await this.#logs.stat(named);
    const ended = named.filter((path) => !logs.has(path));
    const names = ended.map((path) => path.slice(path.lastIndexOf('/') + 1));
    if (ended.length > 0) {
      await runScript(this.#client, forgetNamesScript, [this.#keys.directory(segments)], names);
    }
    return entries.flatMap((entry) => {
      const log = logs.get(entry.path);
      if (log !== undefined) return [entryOf(entry.path, `f${log.time}`, log.size)];
      return this.#isEnded(entry) ? [] : [entry];
    });
  }

  /** Tests if an entry is only the name of a log that is stored elsewhere or has expired. */
  #isEnded({ path, type, size }: WorkspaceEntry): boolean {
    return type === 'file' && size === 0 && isLog(path);
  }
}

function entryOf(path: string, entry: string, size: number): WorkspaceEntry {
  const type = entry.startsWith('f') ? 'file' : 'directory';
  return { path, type, size, modifiedAt: new Date(Number(entry.slice(1))).toISOString() };
}

function segmentsOf(path: string): readonly string[] {
  const segments = pathSegments(path);
  if (segments.every((name) => Buffer.byteLength(name) <= MAX_NAME_BYTES)) return segments;
  throw new WorkspaceError(
    'invalid_path',
    path,
    `${JSON.stringify(path)} has a name of more than ${MAX_NAME_BYTES} bytes; use shorter names.`,
  );
}

function asValue(data: string | Uint8Array): RedisValue {
  return typeof data === 'string' ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
