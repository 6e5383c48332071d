import * as z from 'zod';
import { type JsonObject, parsedJson } from '../../lib/json.js';
import { jsonObjectSchema } from '../../lib/json-schemas.js';
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

/** Where messages and notes lie, by id. */
interface Places {
  readonly messages: Map<string, Place>;
  readonly notes: Map<string, Place>;
}

/** Something that the log keeps beside its messages, and that is found by each of its ids. */
export interface LogNote {
  readonly ids: readonly string[];
  readonly data: JsonObject;
}

const noteSchema = z.strictObject({ ids: z.array(z.string()), data: jsonObjectSchema });

const noPlaces = (): Places => ({ messages: new Map(), notes: new Map() });

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
  #index = noPlaces();
  /** The end of the last line that was indexed. */
  #indexed = 0;
  /** The last append of this log. It is the file's last as long as the file ends at `end`. */
  #own: { readonly places: Places; readonly end: number } | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(workspace: Workspace, key: SessionKey) {
    this.#workspace = workspace;
    this.location = `${sessionPrefix(key)}sessions/${key.path.sessionId}.log.jsonl`;
  }

  /**
   * Appends those messages that the log does not hold yet, by id, and notes. Of two notes with one id the later counts. Durable
   * when it returns.
   */
  append(messages: readonly Message[], notes: readonly LogNote[] = []): Promise<void> {
    return this.#inTurn(async () => {
      checkMessages(messages, 'SessionLog.append');
      const size = await this.#catchUp();
      // Behind a line that a crash left without an end, begin a new one.
      const parts = size > this.#indexed ? [Buffer.from('\n')] : [];
      const torn = parts.length;
      let end = size + torn;
      const places = noPlaces();
      const write = (value: object): Place => {
        const line = Buffer.from(`${JSON.stringify(value)}\n`);
        const place = { offset: end, length: line.length - 1 };
        end += line.length;
        parts.push(line);
        return place;
      };
      for (const message of messages) {
        if (this.#index.messages.has(message.id) || places.messages.has(message.id)) continue;
        places.messages.set(message.id, write(message));
      }
      for (const note of notes) {
        const place = write(note);
        for (const id of note.ids) places.notes.set(id, place);
      }
      if (parts.length === torn) return;
      await this.#workspace.append(this.location, Buffer.concat(parts));
      this.#own = { places, end };
    });
  }

  read(): AsyncIterable<Message> {
    return readLog(this.#workspace, this.location);
  }

  async get(messageId: string): Promise<Message | undefined> {
    return (await this.#line('messages', messageId))?.message;
  }

  /** Finds a note by one of its ids. */
  async note(id: string): Promise<LogNote | undefined> {
    return (await this.#line('notes', id))?.note;
  }

  #line(kind: keyof Places, id: string): Promise<LineContent | undefined> {
    return this.#inTurn(async () => {
      await this.#catchUp();
      const place = this.#index[kind].get(id);
      if (place === undefined) return undefined;
      return parseLine(Buffer.from(await this.#workspace.read(this.location, place)));
    });
  }

  /** Indexes what was added since the last time, and answers the file's size. */
  async #catchUp(): Promise<number> {
    const size = (await this.#workspace.stat(this.location))?.size ?? 0;
    if (size < this.#indexed) {
      // Deleted, and perhaps begun again.
      this.#index = noPlaces();
      this.#indexed = 0;
    }
    const { messages, notes } = this.#index;
    if (size === this.#own?.end) {
      for (const [id, place] of this.#own.places.messages) messages.set(id, place);
      for (const [id, place] of this.#own.places.notes) notes.set(id, place);
      this.#indexed = size;
    }
    this.#own = undefined;
    if (size === this.#indexed) return size;
    for await (const { message, note, start, end } of readLogLines(
      this.#workspace,
      this.location,
      this.#indexed,
    )) {
      const place = { offset: start, length: end - start - 1 };
      if (message !== undefined && !messages.has(message.id)) messages.set(message.id, place);
      for (const id of note?.ids ?? []) notes.set(id, place);
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

/** What a line holds: a message, a note, or neither where it is damaged. */
interface LineContent {
  readonly message?: Message;
  readonly note?: LogNote;
}

/** A complete line of a session's log. */
export interface LogLine extends LineContent {
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
      yield { ...parseLine(Buffer.concat(parts)), start: lineStart, end: position + start };
      parts = [];
      lineStart = position + start;
    }
    parts.push(chunk.subarray(start));
    position += chunk.length;
  }
}

function parseLine(bytes: Buffer): LineContent {
  const value = parsedJson(bytes.toString('utf8'));
  if (messageSchema.safeParse(value).success) return { message: value as Message };
  const { data } = noteSchema.safeParse(value);
  return data === undefined ? {} : { note: data };
}
