import * as z from 'zod';
import { type JsonObject, parsedJson } from '../../lib/json.js';
import { jsonObjectSchema } from '../../lib/json-schemas.js';
import { KeyedMutex } from '../../lib/keyed-mutex.js';
import { checkMessages } from '../../messages/check-messages.js';
import type { Message } from '../../messages/message.js';
import { messageSchema } from '../../messages/message-schemas.js';
import { Numbering } from '../../messages/numbering.js';
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
  /** The number of the message, if it has one. */
  readonly number?: number | undefined;
}

/** Positions of messages and notes, by id. */
interface Places {
  readonly messages: Map<string, Place>;
  readonly notes: Map<string, Place>;
}

/** Data that the log stores in addition to its messages. `WorkspaceSessionLog.note` finds it by any of its ids. */
export interface LogNote {
  readonly ids: readonly string[];
  readonly data: JsonObject;
}

const noteSchema = z.strictObject({ ids: z.array(z.string()), data: jsonObjectSchema });

const noPlaces = (): Places => ({ messages: new Map(), notes: new Map() });

/**
 * A session's log as a file of a workspace, one message per line:
 * `[tenants/<tenant>/][users/<user>/][agents/<agent>/]sessions/<session>.log.jsonl`.
 *
 * Several logs, even in several processes, may append to one file: each first reads what the others added. If two logs add the same
 * message at the same moment, readers return it once.
 */
export class WorkspaceSessionLog implements SessionLog {
  readonly location: string;
  readonly #workspace: Workspace;
  #index = noPlaces();
  /** The end of the last line that was indexed. */
  #indexed = 0;
  /** Gives the messages after the indexed lines their numbers. */
  #numbering = new Numbering();
  /** The last append of this log. If the file still ends at `end`, no other writer has appended since. */
  #own: { readonly places: Places; readonly end: number; readonly numbering: Numbering } | undefined;
  /** The messages that an empty log begins with. */
  #earlier: readonly Message[] = [];
  readonly #mutex = new KeyedMutex();

  constructor(workspace: Workspace, key: SessionKey) {
    this.#workspace = workspace;
    this.location = `${sessionPrefix(key)}sessions/${key.path.sessionId}.log.jsonl`;
  }

  /**
   * Sets the conversation that the log continues. If the log is empty or was lost, it begins with these messages at the next append,
   * summaries first, so that all messages keep their numbers.
   */
  continues(conversation: readonly Message[]): void {
    const isSummary = ({ kind }: Message) => kind === 'summary';
    this.#earlier = conversation
      .filter(isSummary)
      .concat(conversation.filter((message) => !isSummary(message)));
  }

  /**
   * Appends notes, and the messages that the log lacks, by id. If two notes share an id, the later one wins. Both are durable when it
   * returns.
   */
  append(messages: readonly Message[], notes: readonly LogNote[] = []): Promise<void> {
    return this.#inTurn(async () => {
      checkMessages(messages, 'SessionLog.append');
      const size = await this.#catchUp();
      // If a crash left a torn last line, start a new line.
      const parts = size > this.#indexed ? ['\n'] : [];
      const torn = parts.length;
      let end = size + torn;
      const numbering = this.#numbering.copy();
      const places = noPlaces();
      const write = (value: object): Place => {
        const line = JSON.stringify(value);
        const place = { offset: end, length: Buffer.byteLength(line) };
        end += place.length + 1;
        parts.push(line, '\n');
        return place;
      };
      for (const message of size === 0 ? [...this.#earlier, ...messages] : messages) {
        if (this.#index.messages.has(message.id) || places.messages.has(message.id)) continue;
        const number = numbering.next(message);
        places.messages.set(message.id, { ...write(message), number });
      }
      for (const note of notes) {
        const place = write(note);
        for (const id of note.ids) places.notes.set(id, place);
      }
      if (parts.length === torn) return;
      await this.#workspace.append(this.location, parts.join(''));
      this.#own = { places, end, numbering };
      this.#earlier = [];
    });
  }

  async *read(from?: string): AsyncGenerator<Message, void, undefined> {
    const start = from === undefined ? 0 : await this.#inTurn(() => this.#placeOf(from));
    const { messages } = this.#index;
    // Skip a second copy of a message before the start.
    const isOld = ({ id }: Message) => start > 0 && (messages.get(id)?.offset ?? start) < start;
    for await (const message of readLog(this.#workspace, this.location, start))
      if (!isOld(message)) yield message;
  }

  /** Returns the byte offset of a message, or 0 if the log lacks it. */
  async #placeOf(messageId: string): Promise<number> {
    await this.#catchUp();
    return this.#index.messages.get(messageId)?.offset ?? 0;
  }

  async get(messageId: string): Promise<Message | undefined> {
    return (await this.#line('messages', messageId))?.message;
  }

  numbers(messageIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#inTurn(async () => {
      await this.#catchUp();
      const numbers = new Map<string, number>();
      for (const id of messageIds) {
        const number = this.#index.messages.get(id)?.number;
        if (number !== undefined) numbers.set(id, number);
      }
      return numbers;
    });
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

  /** Indexes the lines added since the last call, and returns the file's size. */
  async #catchUp(): Promise<number> {
    const size = (await this.#workspace.stat(this.location))?.size ?? 0;
    if (size < this.#indexed) {
      // The file was deleted, and may have been created again.
      this.#index = noPlaces();
      this.#indexed = 0;
      this.#numbering = new Numbering();
    }
    const { messages, notes } = this.#index;
    if (size === this.#own?.end) {
      for (const [id, place] of this.#own.places.messages) messages.set(id, place);
      for (const [id, place] of this.#own.places.notes) notes.set(id, place);
      this.#numbering = this.#own.numbering;
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
      if (message !== undefined && !messages.has(message.id)) {
        messages.set(message.id, { ...place, number: this.#numbering.next(message) });
      }
      for (const id of note?.ids ?? []) notes.set(id, place);
      this.#indexed = end;
    }
    return size;
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#mutex.run(this.location, task);
  }
}

/** Reads the messages of a log from the line at `offset` on, oldest first, each once. Skips a truncated line. */
export async function* readLog(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  offset = 0,
): AsyncGenerator<Message, void, undefined> {
  const seen = new Set<string>();
  for await (const { message } of readLogLines(workspace, path, offset)) {
    if (message === undefined || seen.has(message.id)) continue;
    seen.add(message.id);
    yield message;
  }
}

/** The content of a line: a message, a note, or neither if it is damaged. */
interface LineContent {
  readonly message?: Message;
  readonly note?: LogNote;
}

/** A complete line of a session's log. */
interface LogLine extends LineContent {
  /** Byte offset of this line; `end` is that of the next line. */
  readonly start: number;
  readonly end: number;
}

/**
 * Reads the complete lines of a log in chunks, starting with the line at `offset`. Yields nothing if the log does not exist. Skips
 * text after the last line break, because it is torn or still being written.
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
    // The log does not exist, or this is its end.
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
