import { type Message, readText, type SessionLog, toolResultsOf, toolUsesOf, type Workspace } from '@x/core';
import { parsedJson } from '@x/core/internal';
import type { PageEvent } from '../page.js';

/** An event as it is stored: with the id of its message, whose content is in the log. */
type StoredEvent = PageEvent & { readonly messageId?: string };

/** Events that are not stored: the message that follows them has it all. */
const PASSING = new Set([
  'text.delta',
  'thinking.delta',
  'tool.delta',
  'draft.discarded',
  'tool.progress',
  'subagent.event',
  'context.compacting',
  'state.changed',
]);

export function isStored({ type }: { readonly type: string }): boolean {
  return !PASSING.has(type);
}

/**
 * The events of a session, so that the page shows compactions, durations and usage also after a restart. Nobody waits until they are
 * written: the log and the store hold what must not be lost.
 */
export class EventFile {
  readonly path: string;
  readonly #workspace: Workspace;
  readonly #log: SessionLog;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, workspace: Workspace, log: SessionLog) {
    this.path = path;
    this.#workspace = workspace;
    this.#log = log;
  }

  append(event: PageEvent | Promise<PageEvent>): void {
    this.#writing = this.#writing
      .then(async () => {
        const stored = withoutContent(await event);
        await this.#workspace.append(this.path, `${JSON.stringify(stored)}\n`);
      })
      .catch((error) =>
        process.emitWarning(`An event could not be written to ${this.path}: ${String(error)}`),
      );
  }

  /** Reads every stored event, and then the messages of the log that no event has. */
  async read(): Promise<readonly PageEvent[]> {
    await this.flush();
    const messages = new Map<string, Message>();
    for await (const message of this.#log.read()) messages.set(message.id, message);
    const unmentioned = new Map(messages);
    const events: PageEvent[] = [];
    const isThere = await this.#workspace.stat(this.path);
    const lines = isThere ? (await readText(this.#workspace, this.path)).split('\n') : [];
    for (const line of lines) {
      // A crash may have cut off a line.
      const stored = parsedJson(line) as StoredEvent | undefined;
      if (stored === undefined) continue;
      const { messageId } = stored;
      const message = messageId === undefined ? undefined : messages.get(messageId);
      if (message) unmentioned.delete(message.id);
      if (messageId === undefined) events.push(stored);
      else if (message) events.push({ ...stored, message } as PageEvent);
    }
    for (const message of unmentioned.values())
      events.push({ type: 'message.added', message, callId: '', seq: 0, at: message.createdAt });
    return events;
  }

  /** Resolves when every event so far has been written. */
  async flush(): Promise<void> {
    await this.#writing;
  }
}

function withoutContent(event: PageEvent): object {
  if (event.type === 'tool.result') return { ...event, result: { ...event.result, output: [] } };
  if (!('message' in event) || typeof event.message !== 'object') return event;
  const { message, ...rest } = event;
  return { ...rest, messageId: message.id };
}

/**
 * Finds the messages of a log that never became part of the conversation. A process logs a step before it stores it, and may die in
 * between. The next process makes another step, so the lost one would show up as calls without answers, or as a second answer.
 *
 * @param logged Every message of the log, in order.
 * @param context The conversation as it is now. Compactions removed other messages from it, but never a call without its results.
 */
export function neverStored(logged: readonly Message[], context: readonly Message[]): ReadonlySet<string> {
  const stored = new Set(context.map(({ id }) => id));
  const current = new Set(context.flatMap((message) => toolUsesOf(message)).map(({ id }) => id));
  const answered = new Set<string>();
  const lost = new Set<string>();
  // From the end: the answer to a call stands behind it, and the last answer is the stored one.
  for (const message of logged.toReversed()) {
    const results = toolResultsOf(message).map(({ toolUseId }) => toolUseId);
    const repeated = results.length > 0 && results.every((call) => answered.has(call) || current.has(call));
    const unanswered = toolUsesOf(message).some((call) => !answered.has(call.id));
    if (!stored.has(message.id) && (unanswered || repeated)) lost.add(message.id);
    else for (const call of results) answered.add(call);
  }
  return lost;
}
