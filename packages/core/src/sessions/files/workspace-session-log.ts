import { parsedJson } from '../../lib/json.js';
import { checkMessages } from '../../messages/check-messages.js';
import type { Message } from '../../messages/message.js';
import { messageSchema } from '../../messages/message-schemas.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { SessionKey } from '../session-key.js';
import type { SessionLog } from '../session-store.js';
import { ifFound, sessionPrefix } from './session-files.js';

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 10;

/** The position of a line, in bytes. */
interface Place {
  readonly offset: number;
  readonly length: number;
}

/**
 * A session's log as a file of a workspace, one message a line:
 * `[tenants/<tenant>/][users/<user>/][agents/<agent>/]sessions/<session>.log.jsonl`.
 *
 * Several logs, also of several processes, may append to one file: each reads what the others added first. Should two
 * add the same message at the same moment, readers see it once.
 */
export class WorkspaceSessionLog implements SessionLog {
  readonly location: string;
  readonly #workspace: Workspace;
  /** By message id, where its line lies. */
  readonly #index = new Map<string, Place>();
  /** The end of the last line that was indexed. */
  #indexed = 0;
  /** The last append of this log. It is the file's last as long as the file ends at `end`. */
  #own:
    | { readonly places: readonly (readonly [id: string, place: Place])[]; readonly end: number }
    | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(workspace: Workspace, key: SessionKey) {
    this.#workspace = workspace;
    this.location = `${sessionPrefix(key)}sessions/${key.path.sessionId}.log.jsonl`;
  }

  append(messages: readonly Message[]): Promise<void> {
    return this.#inTurn(async () => {
      checkMessages(messages, 'SessionLog.append');
      const size = await this.#catchUp();
      // Behind a line that a crash left without an end, begin a new one.
      const parts = size > this.#indexed ? [Buffer.from('\n')] : [];
      let end = size + parts.length;
      const places = new Map<string, Place>();
      for (const message of messages) {
        if (this.#index.has(message.id) || places.has(message.id)) continue;
        const line = Buffer.from(`${JSON.stringify(message)}\n`);
        places.set(message.id, { offset: end, length: line.length - 1 });
        end += line.length;
        parts.push(line);
      }
      if (places.size === 0) return;
      await this.#workspace.append(this.location, Buffer.concat(parts));
      this.#own = { places: [...places], end };
    });
  }

  read(): AsyncIterable<Message> {
    return readLog(this.#workspace, this.location);
  }

  get(messageId: string): Promise<Message | undefined> {
    return this.#inTurn(async () => {
      await this.#catchUp();
      const place = this.#index.get(messageId);
      if (place === undefined) return undefined;
      const bytes = Buffer.from(await this.#workspace.read(this.location, place));
      return parseLine(bytes);
    });
  }

  /** Indexes what was added since the last time, and answers the file's size. */
  async #catchUp(): Promise<number> {
    const size = (await this.#workspace.stat(this.location))?.size ?? 0;
    if (size < this.#indexed) {
      // Deleted, and perhaps begun anew.
      this.#index.clear();
      this.#indexed = 0;
    }
    if (size === this.#own?.end) {
      for (const [id, place] of this.#own.places) this.#index.set(id, place);
      this.#indexed = size;
    }
    this.#own = undefined;
    if (size === this.#indexed) return size;
    for await (const { message, start, end } of readLogLines(this.#workspace, this.location, this.#indexed)) {
      if (message !== undefined && !this.#index.has(message.id)) {
        this.#index.set(message.id, { offset: start, length: end - start - 1 });
      }
      this.#indexed = end;
    }
    return size;
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(task);
    this.#queue = result.catch(() => {});
    return result;
  }
}

/** Reads the messages of a log, oldest first, each once. A line that a crash cut is left out. */
export async function* readLog(
  workspace: Pick<Workspace, 'read'>,
  path: string,
): AsyncGenerator<Message, void, undefined> {
  const seen = new Set<string>();
  for await (const { message } of readLogLines(workspace, path)) {
    if (message === undefined || seen.has(message.id)) continue;
    seen.add(message.id);
    yield message;
  }
}

/** A complete line of a session's log. */
export interface LogLine {
  /** `undefined` when the line holds none. */
  readonly message: Message | undefined;
  /** Where the line begins and the next one does, in bytes. */
  readonly start: number;
  readonly end: number;
}

/**
 * Reads the complete lines of a log from the one that begins at `offset`, in parts; none of a log that does not exist. What
 * stands behind the last line break is left out: it is torn, or still being written.
 */
export async function* readLogLines(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  offset = 0,
): AsyncGenerator<LogLine, void, undefined> {
  let parts: Buffer[] = [];
  let lineStart = offset;
  for (let position = offset; ; ) {
    const bytes = await ifFound(workspace.read(path, { offset: position, length: CHUNK_BYTES }));
    // Nothing was ever logged, or this is the end.
    if (bytes === undefined || bytes.length === 0) return;
    const chunk = Buffer.from(bytes);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      start = end + 1;
      yield { message: parseLine(Buffer.concat(parts)), start: lineStart, end: position + start };
      parts = [];
      lineStart = position + start;
    }
    parts.push(chunk.subarray(start));
    position += chunk.length;
  }
}

function parseLine(bytes: Buffer): Message | undefined {
  const value = parsedJson(bytes.toString('utf8'));
  return messageSchema.safeParse(value).success ? (value as Message) : undefined;
}
