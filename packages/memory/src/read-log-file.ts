import { type Message, messageSchema, type Workspace } from '@x/core';

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 10;

/**
 * The messages of a session log, oldest first, each once. Lines that a crash cut are left out, and so is what stands
 * behind the last line break.
 */
export async function* readLogFile(
  workspace: Pick<Workspace, 'read'>,
  path: string,
): AsyncGenerator<Message, void, undefined> {
  const seen = new Set<string>();
  for await (const { message } of readLogFrom(workspace, path, 0)) {
    if (message === undefined || seen.has(message.id)) continue;
    seen.add(message.id);
    yield message;
  }
}

/** A whole line of a log. */
export interface LogLine {
  /** `undefined` when the line holds none. */
  readonly message: Message | undefined;
  /** Where the next line begins, in bytes. */
  readonly end: number;
}

/** The lines of a session log from one that begins at `start`, in bytes. */
export async function* readLogFrom(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  start: number,
): AsyncGenerator<LogLine, void, undefined> {
  let end = start;
  for await (const line of linesOf(workspace, path, start)) {
    end += line.length + 1;
    yield { message: parseMessage(line.toString('utf8')), end };
  }
}

async function* linesOf(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  from: number,
): AsyncIterable<Buffer> {
  let parts: Uint8Array[] = [];
  for (let offset = from; ; ) {
    const chunk = await workspace.read(path, { offset, length: CHUNK_BYTES });
    if (chunk.length === 0) return;
    offset += chunk.length;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      yield Buffer.concat(parts);
      parts = [];
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
  }
}

function parseMessage(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return messageSchema.safeParse(value).success ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}
