import { type Message, messageSchema, type Workspace, WorkspaceError } from '@x/core';
import { readLines } from '@x/core/node';

/** A complete line of a session log. */
export interface LogLine {
  /** `undefined` when the line holds none. */
  readonly message: Message | undefined;
  /** Where the line begins and the next one does, in bytes. */
  readonly start: number;
  readonly end: number;
}

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

/** The lines of a session log from one that begins at `start`, in bytes; none of a log that does not exist. */
export async function* readLogFrom(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  start: number,
): AsyncGenerator<LogLine, void, undefined> {
  try {
    for await (const { bytes, offset } of readLines(workspace, path, start)) {
      yield { message: parseMessage(bytes), start: offset, end: offset + bytes.length + 1 };
    }
  } catch (error) {
    if (!WorkspaceError.isInstance(error) || error.code !== 'not_found') throw error;
  }
}

function parseMessage(bytes: Buffer): Message | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return messageSchema.safeParse(value).success ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}
