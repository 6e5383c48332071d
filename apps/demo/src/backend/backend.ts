import {
  type AgentState,
  type CompactOptions,
  eraseSession,
  type Message,
  ModelError,
  type Receipt,
  RuntimeContext,
  type SessionInfo,
  SessionKey,
  SessionStoreError,
  type TokenCounter,
  toClientEvent,
  userMessage,
} from '@x/core';
import { errorText } from '@x/core/internal';
import { sessionPrefix, type WorkspaceEntry } from '@x/core/store';
import { type Decisions, type HarnessAgent, pendingCalls, previewCall } from '@x/harness';
import { requestAt } from '@x/harness/view';
import { AGENT, type DemoAgent } from '../create-agent.js';
import { STARTS_CALL } from '../guide/view.js';
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
import { inOneLine, textOf as textWithCalls } from '../page.js';
import { BackendError, forPage, isForClients } from '../server/errors.js';
import { requestView } from './inspect.js';

interface BackendOptions {
  readonly demo: DemoAgent;
  readonly counter: TokenCounter;
  readonly info: BackendInfo;
}

/** Maximum files that the page shows, and that are listed to find the newest. */
const [MAX_FILES, MAX_LISTED] = [50, 2_000];
const MAX_FILE_BYTES = 1_048_576;
/** Matches the memory files: long-term memory and daily notes. */
const MEMORY_FILE = /(?:^|\/)(?:MEMORY|memory\/[^/]+)\.md$/;
/** Maximum characters of a message that are shown around the search words, and before the first of them. */
const [FOUND_CHARS, BEFORE_FOUND] = [90, 16];

/**
 * Provides the sessions of the demo's agent to the page.
 *
 * Methods reject with an `XError`, whose code and client message reach the page: `session_not_found` for a session that does not exist,
 * `session_busy` for a change that must wait for the running call.
 */
export class Backend {
  readonly #demo: DemoAgent;
  readonly #agent: HarnessAgent;
  readonly #counter: TokenCounter;
  readonly #info: BackendInfo;
  /** Abort controllers that end the streams of a session's readers, who then reconnect. By session id. */
  readonly #readers = new Map<string, AbortController>();
  /** The last stored version that could be opened, and whether a call waits in it, by session id. */
  readonly #opened = new Map<string, { readonly version: number; readonly waits: boolean }>();
  /** The session ids of messages that wait for the next step of a running call. */
  readonly #queued = new Map<Message, string>();

  constructor({ demo, counter, info }: BackendOptions) {
    this.#demo = demo;
    this.#agent = demo.agent;
    this.#counter = counter;
    this.#info = info;
  }

  async info(): Promise<BackendInfo> {
    return this.#info;
  }

  /** Lists all sessions, the most recently used first. With `words`, only those with a message that contains all of them. */
  async sessions(words: readonly string[] = []): Promise<readonly SessionSummary[]> {
    const summaries: SessionSummary[] = [];
    const damaged = new Set<string>();
    for await (const { key, title, updatedAt, version } of this.#stored(damaged)) {
      const { sessionId: id } = key.parts;
      // A list does not read whole sessions, so each new version is opened once to detect damage.
      if (this.#opened.get(id)?.version !== version) {
        const state = await this.#agent.state(contextOf(id)).catch(warn);
        if (!state) {
          damaged.add(id);
          continue;
        }
        this.#opened.set(id, { version, waits: pendingCalls(state).length > 0 });
      }
      const waits = this.#opened.get(id)?.waits;
      const found = words.length > 0 ? await this.#find(id, words) : undefined;
      if (words.length > 0 && found === undefined) continue;
      summaries.push({ id, title: title ?? id, updatedAt, running: this.#isRunning(id), waits, found });
    }
    if (words.length === 0)
      for (const id of damaged)
        summaries.push({ id, title: id, updatedAt: '', running: false, damaged: true });
    return summaries.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
  }

  /** Searches the messages and tool calls of a session's log, including removed ones. Returns the last match. */
  async #find(sessionId: string, words: readonly string[]): Promise<SessionSummary['found']> {
    let found: SessionSummary['found'];
    for await (const message of this.#agent.log(contextOf(sessionId)).read()) {
      const text = textWithCalls(message).replace(/\s+/g, ' ');
      const places = words.map((word) => text.toLowerCase().indexOf(word.toLowerCase()));
      const first = text.lastIndexOf(' ', Math.max(0, Math.min(...places) - BEFORE_FOUND)) + 1;
      const line = inOneLine(text.slice(first), FOUND_CHARS);
      if (places.every((place) => place >= 0) && message.kind === undefined)
        found = { text: `${first > 0 ? '… ' : ''}${line}`, messageId: message.id };
    }
    return found;
  }

  /**
   * Yields a session's history and state, then follows it until `signal` aborts. The stream also ends if the session was changed elsewhere:
   * the reader should then read it again.
   */
  async *events(sessionId: string, signal: AbortSignal): AsyncGenerator<Sent> {
    const readers = this.#readers.get(sessionId) ?? new AbortController();
    this.#readers.set(sessionId, readers);
    const ended = AbortSignal.any([signal, readers.signal]);
    // Subscribed before the history is read, so that no event is missed.
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
      queued: this.#queuedIn(sessionId),
    };
  }

  /** Sends a message: to the running call, whose model reads it at its next step, or with a new call, which may create the session. */
  async send(sessionId: string, text: string): Promise<void> {
    const context = contextOf(sessionId);
    // Rejects a damaged session here, because a call that cannot begin emits no event.
    const state = await this.#agent.state(context);
    const message = userMessage(text, { metadata: STARTS_CALL });
    // To a call that waits for approval, the message is the reason of a denial.
    const denial = { type: 'deny', reason: text } as const;
    const decisions = Object.fromEntries(pendingCalls(state).map(({ approvalId }) => [approvalId, denial]));
    const start = () => void finished(this.#agent.stream(message, context, { decisions }));
    if (!this.#isRunning(sessionId)) return start();
    const queued = userMessage(text, { id: message.id });
    this.#queued.set(queued, sessionId);
    void this.#agent.steer(context, queued).then((delivered) => {
      // If the call ends before the message is delivered, the message begins another call, unless the user stopped the call.
      if (this.#queued.delete(queued) && !delivered) start();
    }, warn);
  }

  /** Stops the running call. Returns the texts of the queued messages, which are no longer sent. */
  async stop(sessionId: string): Promise<readonly string[]> {
    const queued = this.#queuedIn(sessionId);
    for (const message of queued) this.#queued.delete(message);
    this.#agent.interrupt(contextOf(sessionId));
    return queued.map(textWithCalls);
  }

  /** Starts a compaction. The event `context.compacted` reports the outcome, even a failure. */
  async compact(
    sessionId: string,
    options: Pick<CompactOptions, 'instructions' | 'upTo'> = {},
  ): Promise<void> {
    await this.#idle(sessionId);
    void this.#agent.compact(contextOf(sessionId), options).catch(warn);
  }

  /** Pins a message: its text stays verbatim through every compaction. */
  async pin(sessionId: string, messageId: string): Promise<void> {
    await this.#idle(sessionId);
    await this.#agent.pin(contextOf(sessionId), { messageId });
  }

  async unpin(sessionId: string, pin: string): Promise<void> {
    await this.#idle(sessionId);
    await this.#agent.unpin(contextOf(sessionId), pin);
  }

  /** Lists the content that compactions removed from the model's view, the most important first, and the location of each pin. */
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
   * Decides on pending tool calls, and continues the call.
   *
   * @throws {BackendError} `not_pending`.
   */
  async decide(sessionId: string, decisions: Decisions): Promise<void> {
    const state = await this.#idle(sessionId);
    const pending = new Set(pendingCalls(state).map(({ approvalId }) => approvalId));
    const ids = Object.keys(decisions);
    if (ids.length === 0 || ids.some((id) => !pending.has(id)))
      throw new BackendError(
        'not_pending',
        'This call was already decided. The conversation shows the decision.',
      );
    void finished(this.#agent.resumeStream(contextOf(sessionId), { decisions }));
  }

  /** Deletes the session and its log, and stops its running call. */
  async remove(sessionId: string): Promise<void> {
    await this.#known(sessionId);
    const context = contextOf(sessionId);
    const rest = this.#agent.follow(context);
    await this.stop(sessionId);
    if (rest) await finished(rest);
    await eraseSession(this.#agent, keyOf(sessionId));
    this.#sendAway(sessionId);
  }

  /**
   * Returns the model's view at a place: a request, a compaction or an undo, counted from 1. Without a place, the next request.
   *
   * @throws {BackendError} `not_found` for a place that the session does not have.
   */
  async request(sessionId: string, place?: number): Promise<RequestView> {
    const state = await this.#known(sessionId);
    const messages = [...(this.#demo.frames.get(sessionId) ?? []), ...(state?.context ?? [])];
    const seen =
      place === undefined ? { messages, before: messages } : requestAt(await this.#history(sessionId), place);
    if (seen) return requestView(seen, this.#counter);
    throw new BackendError('not_found', `The session has no request or compaction ${place}.`);
  }

  /** Lists the files that the agent has written and its memory files, each the newest first. */
  async files(): Promise<readonly FileInfo[]> {
    const files: FileInfo[] = [];
    const own = this.#agent.files(contextOf('any'));
    const add = async (entries: AsyncIterable<WorkspaceEntry>, isMemory: boolean) => {
      for await (const { path, type, size, modifiedAt } of entries) {
        if (files.length === MAX_LISTED) return;
        if (type === 'file' && (!isMemory || MEMORY_FILE.test(path)))
          files.push({ path, size, modifiedAt, isMemory });
      }
    };
    await add(this.#agent.storage.list(sessionPrefix(keyOf('any')), { recursive: true }), true);
    await add(own.list(''), false);
    // The repository is mounted at `repo`.
    for await (const { path, type } of own.list(''))
      if (type === 'directory' && path !== 'repo') await add(own.list(path, { recursive: true }), false);
    return files.sort((left, right) => right.modifiedAt.localeCompare(left.modifiedAt)).slice(0, MAX_FILES);
  }

  /**
   * Reads the beginning of a text file in the workspace.
   *
   * @throws {WorkspaceError} `not_found`, `outside_workspace`, ….
   */
  async readFile(path: string): Promise<FileText> {
    const { storage } = this.#agent;
    // Evicted results and logs are in the agent's own storage.
    const isKept = await storage.stat(path).catch(() => undefined);
    const files = isKept ? storage : this.#agent.files(contextOf('any'));
    const text = new TextDecoder().decode(await files.read(path, { offset: 0, length: MAX_FILE_BYTES }));
    return { text, size: (await files.stat(path))?.size ?? text.length };
  }

  /** Resumes every call whose process has ended. Returns their number. */
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

  #queuedIn(sessionId: string): readonly Message[] {
    return [...this.#queued.keys()].filter((message) => this.#queued.get(message) === sessionId);
  }

  #sendAway(sessionId: string): void {
    this.#readers.get(sessionId)?.abort();
    this.#readers.delete(sessionId);
  }

  async #history(sessionId: string): Promise<readonly PageEvent[]> {
    await this.#known(sessionId);
    return this.#demo.events.read(this.#agent, contextOf(sessionId));
  }

  /** Returns the state of an existing session; `undefined` while nothing of it has been stored. */
  async #known(sessionId: string): Promise<AgentState | undefined> {
    const state = await this.#agent.state(contextOf(sessionId));
    if (state || this.#isRunning(sessionId)) return state;
    throw new BackendError('session_not_found', `There is no session "${sessionId}".`);
  }

  /** Returns the state of a session without a running call. */
  async #idle(sessionId: string): Promise<AgentState | undefined> {
    const state = await this.#known(sessionId);
    if (!this.#isRunning(sessionId)) return state;
    throw new BackendError(
      'session_busy',
      'The agent is still working in this session. Stop it, or wait until it ends.',
    );
  }

  /** Lists the stored sessions. Skips damaged ones with a warning, and adds their ids to `damaged`. */
  async *#stored(damaged?: Set<string>): AsyncIterable<SessionInfo> {
    try {
      yield* this.#agent.session.list({ agentId: AGENT });
    } catch (error) {
      // A store reports damaged sessions after it has listed all others.
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

/** Reads a call to its end. Its errors reach the page as `call.failed`. Details that are only for the operator become a warning. */
async function finished(stream: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of stream);
  } catch (error) {
    if (!isForClients(error) || ModelError.isInstance(error)) warn(error);
  }
}

const warned = new Set<string>();

/** Emits each warning only once. One session's problem must not affect the others. */
function warn(error: unknown): undefined {
  const message = errorText(error);
  if (!warned.has(message)) process.emitWarning(message);
  warned.add(message);
}
