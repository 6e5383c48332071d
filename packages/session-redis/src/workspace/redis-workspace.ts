import {
  type HeldLock,
  operationId,
  parseWith,
  pathSegments,
  type Workspace,
  type WorkspaceEntry,
  WorkspaceError,
} from '@x/core';
import * as z from 'zod';
import { clientSchema, keyPrefixSchema } from '../options.js';
import type { RedisClient, RedisValue } from '../redis-client.js';
import { deleteScript, listScript, readScript, statScript, writeScript } from '../scripts/files.js';
import { runScript, runScriptForBytes } from '../scripts/run-script.js';
import { withRedisLock } from './redis-lock.js';
import { asWorkspaceError, type Refusal, refused } from './workspace-failure.js';
import { WorkspaceKeys } from './workspace-keys.js';

const optionsSchema = z.strictObject({ client: clientSchema, keyPrefix: keyPrefixSchema });

/** What common file systems allow for a name, so that files can move to one. */
const MAX_NAME_BYTES = 255;

/** Options of a `RedisWorkspace`. */
export interface RedisWorkspaceOptions {
  /** A `Redis` or a `Cluster` of ioredis, or `fromNodeRedis(client)`. It stays the caller's: it is never closed here. */
  readonly client: RedisClient;
  /** Before every key; what has another prefix is another workspace. Default `x:`. */
  readonly keyPrefix?: string | undefined;
}

/**
 * Files in Redis, for what the replicas of an agent share: memory, logs, evicted results, sessions by
 * `WorkspaceSession`. Every operation but `list` is one round trip and happens whole or not at all.
 *
 * A workspace lies on one master of a Cluster, since a file and the directories above it change together; give tenants
 * prefixes of their own to spread them. A file may have 512 MB. Writes last as long as Redis is configured to keep them
 * (`appendfsync always` where nothing may be lost with the machine).
 *
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export class RedisWorkspace implements Workspace {
  readonly reach = 'cluster';
  readonly #client: RedisClient;
  readonly #keys: WorkspaceKeys;

  constructor(options: RedisWorkspaceOptions) {
    const { client, keyPrefix } = parseWith(optionsSchema, options, 'RedisWorkspace options');
    this.#client = client;
    this.#keys = new WorkspaceKeys(keyPrefix);
  }

  async read(
    path: string,
    range: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<Uint8Array> {
    const segments = segmentsOf(path);
    if (segments.length === 0) throw refused(path, 'is_directory');
    const offset = Math.max(0, range.offset ?? 0);
    const length = range.length === undefined ? '' : String(Math.max(0, range.length));
    const reply = await asWorkspaceError(path, () =>
      runScriptForBytes(this.#client, readScript, this.#keys.along(segments), [
        String(offset),
        length,
        ...segments,
      ]),
    );
    if (!Array.isArray(reply)) throw refused(path, String(reply) as Refusal);
    return reply[0] as Uint8Array;
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

  /** Every directory as of one moment. */
  async *list(
    path = '',
    options: { readonly recursive?: boolean } = {},
  ): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const segments = segmentsOf(path);
    const entries = await asWorkspaceError(path, () => this.#entries(segments));
    // In the order of whole paths, what lies in `a` comes behind `a.txt`: the contents have a place of their own.
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
    const reply = await asWorkspaceError(path, () =>
      runScript(this.#client, statScript, this.#keys.along(segments), segments),
    );
    if (!Array.isArray(reply)) return undefined;
    const [entry, size] = reply as unknown[];
    return entryOf(segments.join('/'), String(entry), Number(size));
  }

  async delete(path: string): Promise<boolean> {
    const segments = segmentsOf(path);
    if (segments.length === 0) {
      throw new WorkspaceError('invalid_path', path, 'The root of the workspace cannot be deleted.');
    }
    const keys = [...this.#keys.along(segments), this.#keys.directory(segments)];
    return asWorkspaceError(
      path,
      async () => Number(await runScript(this.#client, deleteScript, keys, segments)) === 1,
    );
  }

  async lock<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<T> {
    return withRedisLock(this.#client, this.#keys.lock(name), name, task, options.timeoutMs);
  }

  async #store(path: string, mode: 'write' | 'new' | 'append', data: string | Uint8Array): Promise<void> {
    const segments = segmentsOf(path);
    if (segments.length === 0) throw refused(path, 'is_directory');
    const values = [mode, operationId(), asValue(data), ...segments];
    const reply = await asWorkspaceError(path, () =>
      runScript(this.#client, writeScript, [this.#keys.operation, ...this.#keys.along(segments)], values),
    );
    if (typeof reply === 'string') throw refused(path, reply as Refusal);
  }

  async #entries(segments: readonly string[]): Promise<WorkspaceEntry[]> {
    // The key of a file with an empty name: what follows is the name.
    const files = this.#keys.file([...segments, '']);
    const reply = await runScript(this.#client, listScript, [this.#keys.directory(segments), files], []);
    const [found = [], sizes = []] = reply as unknown[][];
    return sizes.map((size, index) => {
      const name = String(found[2 * index]);
      return entryOf([...segments, name].join('/'), String(found[2 * index + 1]), Number(size));
    });
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
