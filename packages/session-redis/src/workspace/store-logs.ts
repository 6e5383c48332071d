import {
  AgentState,
  assistantMessage,
  InvalidInputError,
  type Message,
  SessionConflictError,
  type SessionKey,
  type SessionStore,
  WorkspaceError,
} from '@x/core';
import { isObject, RecentMap, STORAGE } from '@x/core/internal';
import { operationId, pathSegments, sessionPrefix, type WorkspaceEntry } from '@x/core/store';
import { isLog, keyOfLog, type LogFiles } from './log-path.js';

const PROVIDER = 'log';
/** Maximum number of attempts of one append, if other appends run at the same time. */
const MAX_ATTEMPTS = 20;
/** Maximum number of log ends that are cached between a `stat` and the following append. */
const MAX_ENDS = 1_000;
/** Maximum number of logs whose unread pieces are cached between two reads. */
const MAX_UNREAD = 4;
/** Maximum number of bytes that are cached after the part of a log that was read, because the reader may stop early. */
const MAX_UNREAD_BYTES = 1 << 23;
/** Number of pieces that the first read at an offset loads. Further reads load eight times as many. */
const LAST_PIECES = 8;
const SCOPE = { tenants: 'tenantId', users: 'userId', agents: 'agentId' } as const;

/** One append, stored as a message of the record. */
interface Piece {
  /** Number of the piece, counted from 0. */
  readonly number: number;
  /** Byte offset of the piece in the log. */
  readonly offset: number;
  readonly bytes: Buffer;
}

/** The end of a log. */
interface End {
  readonly token: string | undefined;
  readonly pieces: number;
  readonly size: number;
  readonly updatedAt: string;
}

/** Successive pieces of a log. */
interface Loaded {
  readonly token: string | undefined;
  readonly pieces: readonly Piece[];
}

/** Stores logs in a collection of a session store: one record per log, under the key of its session, and one message per append. */
export class StoreLogs implements LogFiles {
  readonly #records: SessionStore;
  readonly #ends = new RecentMap<string, End>(MAX_ENDS);
  /** The pieces after the part that was read last, so that reading a log in chunks rarely loads a piece twice. */
  readonly #unread = new RecentMap<string, Loaded>(MAX_UNREAD);

  /** @throws {InvalidInputError} when the store has no collections. */
  constructor(store: SessionStore) {
    const records = store.collection?.('logs');
    if (records === undefined) {
      const message = 'must be a workspace, or a session store with collections';
      throw new InvalidInputError('redisBackend options', [{ path: 'logs', message }]);
    }
    this.#records = records;
  }

  async read(
    path: string,
    {
      offset = 0,
      length = Number.POSITIVE_INFINITY,
    }: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<Uint8Array> {
    const key = keyOfLog(path);
    const end = offset + length;
    const loaded = await this.#piecesBetween(key, offset, end);
    if (loaded === undefined)
      throw new WorkspaceError('not_found', path, `The file ${JSON.stringify(path)} does not exist.`);
    const { token, pieces } = loaded;
    const unread = pieces.filter((piece) => endOf(piece) > end && endOf(piece) <= end + MAX_UNREAD_BYTES);
    if (unread.length > 0) this.#unread.set(key.toString(), { token, pieces: unread });
    const start = offset - (pieces[0]?.offset ?? 0);
    const read = pieces.filter((piece) => piece.offset < end).map(({ bytes }) => bytes);
    return Buffer.concat(read).subarray(start, start + length);
  }

  async write(
    path: string,
    data: string | Uint8Array,
    { ifAbsent = false }: { readonly ifAbsent?: boolean } = {},
  ): Promise<void> {
    await this.#change(path, data, (end) => {
      if (ifAbsent && end !== undefined)
        throw new WorkspaceError('already_exists', path, `The file ${JSON.stringify(path)} already exists.`);
      return 0;
    });
  }

  async append(path: string, data: string | Uint8Array): Promise<void> {
    await this.#change(path, data, (end) => end?.pieces ?? 0);
  }

  async stat(path: string): Promise<WorkspaceEntry | undefined> {
    const name = pathSegments(path).join('/');
    if (isLog(name)) {
      const key = keyOfLog(name);
      const end = await this.#endOf(key);
      if (end !== undefined) this.#ends.set(key.toString(), end);
      return end && { path: name, type: 'file', size: end.size, modifiedAt: end.updatedAt };
    }
    for await (const { updatedAt } of this.#below(name)) {
      return { path: name, type: 'directory', size: 0, modifiedAt: updatedAt };
    }
    return undefined;
  }

  async delete(path: string): Promise<boolean> {
    const name = pathSegments(path).join('/');
    if (isLog(name)) return this.#erase(keyOfLog(name));
    const keys: SessionKey[] = [];
    for await (const { key } of this.#below(name)) keys.push(key);
    for (const key of keys) await this.#erase(key);
    return keys.length > 0;
  }

  async *list(
    path = '',
    { recursive = false }: { readonly recursive?: boolean } = {},
  ): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const name = pathSegments(path).join('/');
    const directories = new Set<string>();
    for await (const { key, log, updatedAt } of this.#below(name)) {
      const inner = name === '' ? log : log.slice(name.length + 1);
      const folders = inner.split('/').slice(0, -1);
      for (const depth of recursive ? folders.keys() : folders.slice(0, 1).keys()) {
        const directory = log.slice(0, log.length - inner.length) + folders.slice(0, depth + 1).join('/');
        if (directories.has(directory)) continue;
        directories.add(directory);
        yield { path: directory, type: 'directory', size: 0, modifiedAt: updatedAt };
      }
      if (!recursive && folders.length > 0) continue;
      const end = await this.#endOf(key);
      if (end !== undefined) yield { path: log, type: 'file', size: end.size, modifiedAt: end.updatedAt };
    }
  }

  /** Lists the logs below a directory. If the directory belongs to a user, reads only that user's records. */
  async *#below(name: string) {
    const levels = name.split('/');
    const scope: Record<string, string> = {};
    for (const [at, level] of levels.entries()) {
      const part = SCOPE[level as keyof typeof SCOPE];
      const value = levels[at + 1];
      if (part === undefined || value === undefined) continue;
      const { parts } = keyOfLog(`${STORAGE}/${level}/${value}/sessions/s.log.jsonl`);
      scope[part] = parts[part] ?? '';
    }
    for await (const { key, updatedAt } of this.#records.list(scope)) {
      const log = `${STORAGE}/${sessionPrefix(key)}sessions/${key.path.sessionId}.log.jsonl`;
      if (name === '' || log.startsWith(`${name}/`)) yield { key, log, updatedAt };
    }
  }

  #erase(key: SessionKey): Promise<boolean> {
    this.#ends.delete(key.toString());
    this.#unread.delete(key.toString());
    return this.#records.delete(key);
  }

  /** Returns the pieces that contain the bytes from `offset` to `until`, and possibly others before and after them. */
  async #piecesBetween(key: SessionKey, offset: number, until: number): Promise<Loaded | undefined> {
    const known = this.#unread.get(key.toString());
    this.#unread.delete(key.toString());
    if (known?.pieces.some((piece) => piece.offset <= offset)) {
      const end = await this.#endOf(key);
      const isEnough = known.pieces.some((piece) => endOf(piece) >= Math.min(until, end?.size ?? 0));
      if (end?.token === known.token && isEnough) return known;
    }
    for (let last = offset === 0 ? Number.POSITIVE_INFINITY : LAST_PIECES; ; last *= 8) {
      const isWhole = last === Number.POSITIVE_INFINITY;
      const stored = await this.#records.load(key, isWhole ? {} : { last });
      if (stored === undefined) return undefined;
      const pieces = stored.messages.map(pieceOf);
      if (isWhole || pieces.length < last || (pieces[0]?.offset ?? 0) <= offset)
        return { token: stored.token, pieces };
    }
  }

  async #endOf(key: SessionKey): Promise<End | undefined> {
    const stored = await this.#records.load(key, { last: 1 });
    if (stored === undefined) return undefined;
    const { token, updatedAt, messages } = stored;
    const [last] = messages.map(pieceOf);
    if (last === undefined) return { token, pieces: 0, size: 0, updatedAt };
    return { token, pieces: last.number + 1, size: endOf(last), updatedAt };
  }

  /** @param keep Returns the number of pieces to keep. */
  async #change(
    path: string,
    data: string | Uint8Array,
    keep: (end: End | undefined) => number,
  ): Promise<void> {
    const key = keyOfLog(path);
    const looked = this.#ends.get(key.toString());
    this.#ends.delete(key.toString());
    for (let attempt = 1; ; attempt++) {
      const end = attempt === 1 && looked ? looked : await this.#endOf(key);
      const number = keep(end);
      const offset = number === 0 ? 0 : (end?.size ?? 0);
      const append = [messageOf({ number, offset, bytes: Buffer.from(data as Uint8Array) })];
      const { sessionId, userId, tenantId } = key.parts;
      // Store a valid agent state as the head, so that programs that list or inspect sessions can read this one, too.
      const head = AgentState.create({ sessionId, userId, tenantId }).head();
      const change = { operation: operationId(), expected: end?.token, head, keep: number, append };
      try {
        await this.#records.commit(key, change);
        return;
      } catch (error) {
        if (!SessionConflictError.isInstance(error) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }
}

function endOf({ offset, bytes }: Piece): number {
  return offset + bytes.length;
}

function messageOf({ number, offset, bytes }: Piece): Message {
  const text = bytes.toString('utf8');
  // Bytes that are not valid UTF-8 would not survive as text, so they are stored as base64.
  const content = Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString('base64') };
  return assistantMessage([{ type: 'opaque', provider: PROVIDER, data: { number, offset, ...content } }]);
}

function pieceOf({ content: [block] }: Message): Piece {
  const data = block?.type === 'opaque' && isObject(block.data) ? block.data : {};
  const { number, offset, text, base64: coded } = data;
  const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(String(coded ?? ''), 'base64');
  return { number: Number(number), offset: Number(offset), bytes };
}
