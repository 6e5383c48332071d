import { WorkspaceError } from '../../errors/workspace-error.js';
import { checkMessages } from '../../messages/check-messages.js';
import { type Message, messageSchema } from '../../messages/message.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { SessionKey } from '../session-key.js';
import type { SessionLog } from '../session-store.js';
import { sessionPrefix } from './session-files.js';

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

  async *read(): AsyncGenerator<Message, void, undefined> {
    const seen = new Set<string>();
    for await (const line of this.#lines(0)) {
      const message = parseLine(line);
      if (message === undefined || seen.has(message.id)) continue;
      seen.add(message.id);
      yield message;
    }
  }

  get(messageId: string): Promise<Message | undefined> {
    return this.#inTurn(async () => {
      await this.#catchUp();
      const place = this.#index.get(messageId);
      if (place === undefined) return undefined;
      const bytes = Buffer.from(await this.#workspace.read(this.location, place));
      return parseLine({ bytes, offset: place.offset });
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
    for await (const line of this.#lines(this.#indexed)) {
      const message = parseLine(line);
      if (message !== undefined && !this.#index.has(message.id)) {
        this.#index.set(message.id, { offset: line.offset, length: line.bytes.length });
      }
      this.#indexed = line.offset + line.bytes.length + 1;
    }
    return size;
  }

  async *#lines(offset: number): AsyncIterable<Line> {
    try {
      yield* readLines(this.#workspace, this.location, offset);
    } catch (error) {
      // Nothing was ever logged.
      if (!WorkspaceError.isInstance(error) || error.code !== 'not_found') throw error;
    }
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(task);
    this.#queue = result.catch(() => {});
    return result;
  }
}

/** The message of a line; `undefined` for one that a crash cut. */
function parseLine({ bytes }: Line): Message | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return messageSchema.safeParse(value).success ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}

/** A line of a file, without its end. */
export interface Line {
  readonly bytes: Buffer;
  /** Its beginning in the file. */
  readonly offset: number;
}

/**
 * The complete lines of a file from `offset` on, read in parts. What stands behind the last line break is left out: it
 * is torn, or still being written.
 */
export async function* readLines(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  offset = 0,
): AsyncIterable<Line> {
  let parts: Buffer[] = [];
  let lineOffset = offset;
  for (let position = offset; ; ) {
    const chunk = Buffer.from(await workspace.read(path, { offset: position, length: CHUNK_BYTES }));
    if (chunk.length === 0) return;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      yield { bytes: Buffer.concat(parts), offset: lineOffset };
      parts = [];
      start = end + 1;
      lineOffset = position + start;
    }
    parts.push(chunk.subarray(start));
    position += chunk.length;
  }
}
