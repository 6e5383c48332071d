import {
  type AgentState,
  type CompactOptions,
  eraseSession,
  type Receipt,
  RuntimeContext,
  type SessionInfo,
  SessionKey,
  SessionStoreError,
  type TokenCounter,
  textOf,
  toClientEvent,
} from '@x/core';
import { errorText } from '@x/core/internal';
import { sessionPrefix, type WorkspaceEntry } from '@x/core/store';
import { type Decisions, type HarnessAgent, pendingCalls, previewCall } from '@x/harness';
import { requestAt } from '@x/harness/view';
import { AGENT, type DemoAgent } from '../create-agent.js';
import type {
  BackendInfo,
  FileInfo,
  FileText,
  PageEvent,
  RequestView,
  Sent,
  SessionState,
  SessionSummary,
} from '../page.js';
import { BackendError, forPage, isForClients } from '../server/errors.js';
import { requestView } from './inspect.js';

interface BackendOptions {
  readonly demo: DemoAgent;
  readonly counter: TokenCounter;
  readonly info: BackendInfo;
}

const MAX_FILES = 50;
const MAX_FILE_BYTES = 1_048_576;
/** The files of memory: what is kept, and the notes of days. */
const MEMORY_FILE = /(?:^|\/)(?:MEMORY|memory\/[^/]+)\.md$/;
/** Characters of a message that are shown around the words that were searched for. */
const FOUND_CHARS = 120;

/**
 * The sessions of the demo's agent, as the page sees them.
 *
 * Methods reject with an `XError`, whose code and client message reach the page: `session_not_found` for a session that does not exist,
 * `session_busy` for a change that has to wait for the running call.
 */
export class Backend {
  readonly #demo: DemoAgent;
  readonly #agent: HarnessAgent;
  readonly #counter: TokenCounter;
  readonly #info: BackendInfo;
  /** By session, ends the streams of its readers, who then come back. */
  readonly #readers = new Map<string, AbortController>();
  /** By session, the last stored version that could be opened. */
  readonly #opened = new Map<string, number>();

  constructor({ demo, counter, info }: BackendOptions) {
    this.#demo = demo;
    this.#agent = demo.agent;
    this.#counter = counter;
    this.#info = info;
  }

  async info(): Promise<BackendInfo> {
    return this.#info;
  }

  /** Lists all sessions, the most recently used first. With `words`, those with a message that has all of them. */
  async sessions(words: readonly string[] = []): Promise<readonly SessionSummary[]> {
    const summaries: SessionSummary[] = [];
    const damaged = new Set<string>();
    for await (const { key, title, updatedAt, version } of this.#stored(damaged)) {
      const { sessionId: id } = key.parts;
      // A list does not read whole sessions: whether one can be opened shows here, once a version.
      if (this.#opened.get(id) !== version && !(await this.#agent.state(contextOf(id)).catch(warn))) {
        damaged.add(id);
        continue;
      }
      this.#opened.set(id, version);
      const found = words.length > 0 ? await this.#find(id, words) : undefined;
      if (words.length > 0 && found === undefined) continue;
      summaries.push({ id, title: title ?? id, updatedAt, running: this.#isRunning(id), found });
    }
    if (words.length === 0)
      for (const id of damaged)
        summaries.push({ id, title: id, updatedAt: '', running: false, damaged: true });
    return summaries.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
  }

  /** Searches a session's log, also what was removed from the model's view. Returns the text around the last hit. */
  async #find(sessionId: string, words: readonly string[]): Promise<string | undefined> {
    let found: string | undefined;
    for await (const message of this.#agent.log(contextOf(sessionId)).read()) {
      const text = textOf(message).replace(/\s+/g, ' ');
      const places = words.map((word) => text.toLowerCase().indexOf(word.toLowerCase()));
      const first = Math.max(0, Math.min(...places) - FOUND_CHARS / 3);
      if (places.every((place) => place >= 0) && message.kind === undefined)
        found = `${first > 0 ? '… ' : ''}${text.slice(first, first + FOUND_CHARS)}`;
    }
    return found;
  }

  /**
   * Reads a session's history and state, and then follows it until `signal` fires. The stream also ends when the session was changed
   * elsewhere: read it again.
   */
  async *events(sessionId: string, signal: AbortSignal): AsyncGenerator<Sent> {
    const readers = this.#readers.get(sessionId) ?? new AbortController();
    this.#readers.set(sessionId, readers);
    const ended = AbortSignal.any([signal, readers.signal]);
    // Before the history is read, so that nothing falls in between.
    const live = this.#agent.follow(contextOf(sessionId), { live: true, signal: ended });
    try {
      const events = await this.#history(sessionId);
      yield {
        type: 'history',
        events: events.map((event) => ('view' in event ? { ...event, view: undefined } : event)),
      };
      yield { type: 'state', state: await this.state(sessionId) };
      const known = new Map(events.map(({ callId, seq }) => [callId, seq]));
      for await (const event of live) {
        if (event.seq <= (known.get(event.callId) ?? 0)) continue;
        const told = toClientEvent(event, (error) => forPage(error).message);
        yield told;
        if (changesState(told)) yield { type: 'state', state: await this.state(sessionId) };
      }
    } finally {
      await live.return(undefined);
    }
  }

  async state(sessionId: string): Promise<SessionState> {
    const context = contextOf(sessionId);
    const state = await this.#known(sessionId);
    const pending = pendingCalls(state).map(async (call) => ({
      ...call,
      seen: await previewCall(this.#agent, context, call),
    }));
    return {
      running: this.#isRunning(sessionId),
      todos: state?.tasksContext.todos ?? [],
      pending: await Promise.all(pending),
    };
  }

  /** Says something: to the running call, whose model reads it at its next step, or with a new call, which may begin the session. */
  async send(sessionId: string, text: string): Promise<void> {
    const context = contextOf(sessionId);
    // A damaged session is refused here: a call that cannot begin emits no event.
    await this.#agent.state(context);
    const start = () => void finished(this.#agent.stream(text, context));
    if (!this.#isRunning(sessionId)) return start();
    // If the call ends before the message is delivered, the message begins another call.
    void this.#agent.steer(context, text).then((delivered) => (delivered ? undefined : start()), warn);
  }

  async stop(sessionId: string): Promise<void> {
    this.#agent.interrupt(contextOf(sessionId));
  }

  /** Starts a compaction; `context.compacted` tells the outcome, also a bad one. */
  async compact(
    sessionId: string,
    options: Pick<CompactOptions, 'instructions' | 'upTo'> = {},
  ): Promise<void> {
    await this.#idle(sessionId);
    void this.#agent.compact(contextOf(sessionId), options).catch(warn);
  }

  /** Keeps the text of a message word for word through every compaction. */
  async pin(sessionId: string, messageId: string): Promise<void> {
    await this.#idle(sessionId);
    await this.#agent.pin(contextOf(sessionId), { messageId });
  }

  async unpin(sessionId: string, pin: string): Promise<void> {
    await this.#idle(sessionId);
    await this.#agent.unpin(contextOf(sessionId), pin);
  }

  /** Says what the model no longer sees, what matters most first, and where each pin is. */
  async receipt(sessionId: string): Promise<Receipt | undefined> {
    await this.#known(sessionId);
    return this.#agent.explain(contextOf(sessionId));
  }

  /** @throws {BackendError} `nothing_to_undo`. */
  async undo(sessionId: string): Promise<void> {
    await this.#idle(sessionId);
    if (await this.#agent.undo(contextOf(sessionId))) return;
    throw new BackendError('nothing_to_undo', 'There is no compaction to undo.');
  }

  /**
   * Answers tool calls that wait for permission, and continues with the call.
   *
   * @throws {BackendError} `not_pending`.
   */
  async decide(sessionId: string, decisions: Decisions): Promise<void> {
    const state = await this.#idle(sessionId);
    const pending = new Set(pendingCalls(state).map(({ approvalId }) => approvalId));
    if (Object.keys(decisions).some((id) => !pending.has(id)))
      throw new BackendError('not_pending', 'This call was already decided. The conversation says how.');
    void finished(this.#agent.resumeStream(contextOf(sessionId), { decisions }));
  }

  /** Deletes the session and its log, and stops its running call. */
  async remove(sessionId: string): Promise<void> {
    await this.#known(sessionId);
    const context = contextOf(sessionId);
    const rest = this.#agent.follow(context);
    this.#agent.interrupt(context);
    if (rest) await finished(rest);
    await eraseSession({ session: this.#demo.store, storage: this.#demo.storage }, keyOf(sessionId));
    this.#sendAway(sessionId);
  }

  /**
   * Shows what the model saw at a place: in a request, or after a compaction or an undo, counted from 1. Without a place, the next request.
   *
   * @throws {BackendError} `not_found` for a place that the session does not have.
   */
  async request(sessionId: string, place?: number): Promise<RequestView> {
    const state = await this.#known(sessionId);
    const events = await this.#history(sessionId);
    if (place === undefined) {
      const messages = [...(state?.context ?? [])];
      const last = events.findLast((event) => 'context' in event && event.context !== undefined);
      const usage = last && 'context' in last ? last.context : undefined;
      return requestView({ messages, before: messages, usage }, this.#counter);
    }
    const seen = requestAt(events, place);
    if (seen) return requestView(seen, this.#counter);
    throw new BackendError('not_found', `The session has no request or compaction ${place}.`);
  }

  /** Lists the files that the agent has written and those of its memory, each the newest first. */
  async files(): Promise<readonly FileInfo[]> {
    const files: FileInfo[] = [];
    const add = async (entries: AsyncIterable<WorkspaceEntry>, isMemory: boolean) => {
      for await (const { path, type, size, modifiedAt } of entries)
        if (type === 'file' && (!isMemory || MEMORY_FILE.test(path)))
          files.push({ path, size, modifiedAt, isMemory });
    };
    await add(this.#agent.files(contextOf('any')).list(''), false);
    await add(this.#demo.storage.list(sessionPrefix(keyOf('any')), { recursive: true }), true);
    return files.sort((left, right) => right.modifiedAt.localeCompare(left.modifiedAt)).slice(0, MAX_FILES);
  }

  /**
   * Reads the beginning of a text file in the workspace.
   *
   * @throws {WorkspaceError} `not_found`, `outside_workspace`, ….
   */
  async readFile(path: string): Promise<FileText> {
    const { storage } = this.#demo;
    // Evicted results and logs are in the agent's own storage.
    const isKept = await storage.stat(path).catch(() => undefined);
    const files = isKept ? storage : this.#agent.files(contextOf('any'));
    const text = new TextDecoder().decode(await files.read(path, { offset: 0, length: MAX_FILE_BYTES }));
    return { text, size: (await files.stat(path))?.size ?? text.length };
  }

  /** Goes on with every call whose process has ended. Returns how many. */
  async resumeAll(): Promise<number> {
    let resumed = 0;
    for await (const { key } of this.#stored()) {
      const context = contextOf(key.parts.sessionId);
      const state = await this.#agent.state(context).catch(warn);
      if (state?.activeCall === undefined) continue;
      void finished(this.#agent.resumeStream(context));
      resumed++;
    }
    return resumed;
  }

  #isRunning(sessionId: string): boolean {
    return this.#agent.follow(contextOf(sessionId)) !== undefined;
  }

  #sendAway(sessionId: string): void {
    this.#readers.get(sessionId)?.abort();
    this.#readers.delete(sessionId);
  }

  async #history(sessionId: string): Promise<readonly PageEvent[]> {
    await this.#known(sessionId);
    return this.#demo.events.read(this.#agent, contextOf(sessionId));
  }

  /** Returns the state of a session that exists; `undefined` while nothing of it has been stored. */
  async #known(sessionId: string): Promise<AgentState | undefined> {
    const state = await this.#agent.state(contextOf(sessionId));
    if (state || this.#isRunning(sessionId)) return state;
    throw new BackendError('session_not_found', `There is no session ${sessionId}.`);
  }

  /** Returns the state of a session in which nothing runs. */
  async #idle(sessionId: string): Promise<AgentState | undefined> {
    const state = await this.#known(sessionId);
    if (!this.#isRunning(sessionId)) return state;
    throw new BackendError(
      'session_busy',
      'The agent is still at work in this session. Stop it, or wait for it.',
    );
  }

  /** Lists the stored sessions. A damaged one is left out with a warning, and its id goes into `damaged`. */
  async *#stored(damaged?: Set<string>): AsyncIterable<SessionInfo> {
    try {
      yield* this.#demo.store.list({ agentId: AGENT });
    } catch (error) {
      // A store reports damaged sessions when it has listed all others.
      if (!SessionStoreError.isInstance(error) || error.code !== 'session_corrupt') throw error;
      warn(error);
      const errors: readonly unknown[] = error.cause instanceof AggregateError ? error.cause.errors : [error];
      for (const each of errors) {
        const encoded = SessionStoreError.isInstance(each) ? each.sessionKey : undefined;
        if (encoded !== undefined) damaged?.add(SessionKey.parse(encoded).parts.sessionId);
      }
    }
  }
}

function contextOf(sessionId: string): RuntimeContext {
  return RuntimeContext.of({ sessionId });
}

function keyOf(sessionId: string): SessionKey {
  return SessionKey.of({ agentId: AGENT, sessionId });
}

function changesState(event: PageEvent): boolean {
  if (event.type === 'tool.result') return event.result.toolName === 'todo_write';
  return /^(?:call|permission)\./.test(event.type) || event.type === 'context.compacted';
}

/** Reads a call to its end. Its errors reach the page as `call.failed`, without what is for those who run the server alone. */
async function finished(stream: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of stream);
  } catch (error) {
    if (!isForClients(error)) warn(error);
  }
}

const warned = new Set<string>();

/** Warns once of each problem that one session has and that must not harm the others. */
function warn(error: unknown): undefined {
  const message = errorText(error);
  if (!warned.has(message)) process.emitWarning(message);
  warned.add(message);
}
