import {
  type Message,
  parsedJson,
  readText,
  type SessionKey,
  type SessionLog,
  sessionPrefix,
  type Workspace,
} from '@x/core';
import type { PageEvent } from '../server/transcript.js';
import type { RequestPair } from './inspect.js';

/** An event as it is stored: messages by their id, for the log has them. */
type StoredEvent = {
  readonly type: string;
  readonly messageId?: string;
  /** The conversation that a compaction left: messages that the log has so by their id, others whole. */
  readonly view?: readonly (string | Message)[];
};

interface ToldEvent {
  readonly event: PageEvent;
  readonly view?: readonly Message[] | undefined;
}

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

  /** Writes an event; `view` is the conversation after it, where that is not what was before and a message more. */
  append(event: PageEvent, view?: StoredEvent['view']): void {
    if (PASSING.has(event.type)) return;
    this.#pending += `${JSON.stringify({ ...withoutContent(event), ...(view && { view }) })}\n`;
    this.#writing ??= this.#write();
  }

  /** Everything stored, and the messages of the log that no event tells of. */
  async read(): Promise<readonly PageEvent[]> {
    return (await this.#told()).map(({ event }) => event);
  }

  /** Rebuilds the request of a step, from 1; `undefined` when there was no such step. */
  async request(step: number): Promise<RequestPair | undefined> {
    let view = new Map<string, Message>();
    let before: readonly Message[] = [];
    let count = 0;
    for (const { event, view: left } of await this.#told()) {
      if (event.type === 'model.started') {
        count++;
        if (count === step) return { messages: [...view.values()], before, usage: event.context };
        if (count === step - 1) before = [...view.values()];
      } else if (left) view = new Map(left.map((message) => [message.id, message]));
      else if ('message' in event && typeof event.message === 'object') {
        if (!view.has(event.message.id)) view.set(event.message.id, event.message);
      }
    }
    return undefined;
  }

  async #told(): Promise<readonly ToldEvent[]> {
    const messages = new Map<string, Message>();
    for await (const message of this.#log.read()) messages.set(message.id, message);
    const untold = new Map(messages);
    const events: ToldEvent[] = [];
    for (const line of await this.#lines()) {
      // A line that a crash cut off says nothing.
      const stored = parsedJson(line) as StoredEvent | undefined;
      if (stored === undefined) continue;
      const { view, ...event } = stored;
      const message = event.messageId === undefined ? undefined : messages.get(event.messageId);
      if (event.messageId !== undefined && message === undefined) continue;
      if (message) untold.delete(message.id);
      events.push({
        event: (message ? { ...event, message } : event) as PageEvent,
        view: view?.flatMap((part) => (typeof part === 'string' ? (messages.get(part) ?? []) : [part])),
      });
    }
    for (const message of untold.values()) {
      events.push({ event: { type: 'message.added', message, sessionId: '', at: message.createdAt } });
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
    if (!(await this.#workspace.stat(this.path))) return [];
    return (await readText(this.#workspace, this.path)).split('\n');
  }
}

/** The event without what the log holds anyway. */
function withoutContent(event: PageEvent): object {
  if (event.type === 'tool.result') return { ...event, result: { ...event.result, output: [] } };
  if (!('message' in event) || typeof event.message !== 'object') return event;
  const { message, ...rest } = event;
  return { ...rest, messageId: message.id };
}
