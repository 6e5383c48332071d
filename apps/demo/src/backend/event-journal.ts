import {
  type Message,
  readText,
  type SessionKey,
  type SessionLog,
  sessionPrefix,
  type Workspace,
  WorkspaceError,
} from '@x/core';
import type { PageEvent } from '../server/page-event.js';

/** An event as it is stored: messages by their id, for the log has them. */
type StoredEvent = { readonly type: string; readonly messageId?: string; readonly message?: Message };

/** Told live, not kept: what they built up is in the message that follows. */
const PASSING: ReadonlySet<PageEvent['type']> = new Set<PageEvent['type']>([
  'text.delta',
  'thinking.delta',
  'tool.delta',
  'draft.discarded',
  'tool.progress',
  'subagent.event',
  'context.compacting',
]);

/**
 * What happened in a session beside its messages (compactions, durations, usage), so that the page shows the same after
 * a restart. Written behind, a batch at a time: the log is what must not be lost, this is not.
 */
export class EventJournal {
  readonly path: string;
  readonly #workspace: Workspace;
  readonly #log: SessionLog;
  #pending = '';
  #writing: Promise<void> | undefined;

  constructor(workspace: Workspace, key: SessionKey, log: SessionLog) {
    this.path = `${sessionPrefix(key)}sessions/${key.path.sessionId}.events.jsonl`;
    this.#workspace = workspace;
    this.#log = log;
  }

  append(event: PageEvent): void {
    if (PASSING.has(event.type)) return;
    this.#pending += `${JSON.stringify(withoutContent(event))}\n`;
    this.#writing ??= this.#write();
  }

  /** Everything stored, and the messages of the log that no event tells of. */
  async read(): Promise<readonly PageEvent[]> {
    const messages = new Map<string, Message>();
    for await (const message of this.#log.read()) messages.set(message.id, message);
    const untold = new Map(messages);
    const events: PageEvent[] = [];
    for (const line of await this.#lines()) {
      const event = parse(line);
      if (event === undefined) continue;
      const message = event.messageId === undefined ? undefined : messages.get(event.messageId);
      if (event.messageId !== undefined && message === undefined) continue;
      if (message) untold.delete(message.id);
      events.push((message ? { ...event, message } : event) as PageEvent);
    }
    for (const message of untold.values()) {
      events.push({ type: 'message.added', message, sessionId: '', at: message.createdAt });
    }
    return events;
  }

  /** Resolves when everything has been written. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async #write(): Promise<void> {
    try {
      while (this.#pending !== '') {
        const batch = this.#pending;
        this.#pending = '';
        await this.#workspace.append(this.path, batch);
      }
    } catch (error) {
      // The conversation is safe in log and store; what is lost is how the page tells of it after a restart.
      process.emitWarning(`What happened could not be written to ${this.path}: ${String(error)}`);
    } finally {
      this.#writing = undefined;
    }
  }

  async #lines(): Promise<readonly string[]> {
    try {
      return (await readText(this.#workspace, this.path)).split('\n');
    } catch (error) {
      if (WorkspaceError.isInstance(error) && error.code === 'not_found') return [];
      throw error;
    }
  }
}

/** The event without what the log holds anyway. */
function withoutContent(event: PageEvent): object {
  if (event.type === 'tool.result') return { ...event, result: { ...event.result, output: [] } };
  if (!('message' in event) || typeof event.message !== 'object') return event;
  const { message, ...rest } = event;
  return { ...rest, messageId: message.id };
}

/** A line that a crash cut off says nothing. */
function parse(line: string): StoredEvent | undefined {
  try {
    return JSON.parse(line) as StoredEvent;
  } catch {
    return undefined;
  }
}
