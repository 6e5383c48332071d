import { isDeepStrictEqual } from 'node:util';
import {
  type AgentEvent,
  type AgentState,
  errorText,
  type ManifestEntry,
  type Message,
  type RuntimeContext,
  type SessionKey,
  type TokenCounter,
  type Workspace,
  XError,
} from '@x/core';
import { type HarnessAgent, pendingCalls } from '@x/harness';
import { foldEvent } from '../server/fold-event.js';
import { SessionFeed } from '../server/session-feed.js';
import type { CompactionDetails, ErrorInfo, PageEvent } from '../server/transcript.js';
import { emptyTranscript, type Transcript } from '../server/transcript.js';
import { EventJournal } from './event-journal.js';
import { contextAfter, stubsAfter } from './inspect.js';
import { neverStored } from './never-stored.js';
import { readSideWork } from './side-work.js';

interface LiveSessionOptions {
  readonly agent: HarnessAgent;
  readonly workspace: Workspace;
  readonly key: SessionKey;
  readonly context: RuntimeContext;
  readonly counter: TokenCounter;
}

/** One session as this process shows it: a feed for the page, and a journal of what the feed told. */
export class LiveSession {
  readonly feed: SessionFeed;
  readonly journal: EventJournal;
  /** The call or compaction that runs; resolves at its end. */
  running: Promise<void> | undefined;
  /** True once the running call, or the compaction that was asked for, has announced its end. */
  ending = false;
  /** The stored version that the feed tells of; `undefined` when this process made the next one itself. */
  version: number | undefined;
  readonly #options: LiveSessionOptions;
  #handled: Promise<void> = Promise.resolve();

  private constructor(options: LiveSessionOptions, feed: SessionFeed, journal: EventJournal) {
    this.#options = options;
    this.feed = feed;
    this.journal = journal;
  }

  get busy(): boolean {
    return this.running !== undefined;
  }

  /** Opens a session as an earlier process left it, or a new one. */
  static async open(options: LiveSessionOptions): Promise<LiveSession> {
    const { agent, workspace, key, context } = options;
    const journal = new EventJournal(workspace, key, agent.log(context));
    const transcript = await readTranscript(options, journal);
    return new LiveSession(options, new SessionFeed(key.parts.sessionId, { transcript }), journal);
  }

  /** Tells whether the feed has every message that is stored. */
  async tellsAll(): Promise<boolean> {
    await this.#handled;
    const state = await this.#state();
    const told = new Set(this.feed.transcript.entries.map(({ id }) => id));
    return !state?.context.some(({ id, kind }) => kind !== 'summary' && !told.has(id));
  }

  /** Tells what another process has made of the session since. */
  async reload(): Promise<void> {
    await this.settled();
    this.feed.replace(await readTranscript(this.#options, this.journal));
  }

  /** Tells the page of an event, after those before it. */
  handle(event: AgentEvent): void {
    this.#handled = this.#handled
      .then(() => this.#tell(event))
      .catch((error) => process.emitWarning(`The page missed ${event.type}: ${String(error)}`));
  }

  /** Tells the page that a compaction was taken back. */
  async restored(compactionId: string): Promise<void> {
    await this.#handled;
    const state = await this.#state();
    const before = this.feed.transcript.context;
    const context = state && before && contextAfter(before, state.context, this.#options.counter);
    const at = new Date().toISOString();
    const event = { type: 'context.restored', compactionId, ...(context ? { context } : {}), at } as const;
    this.feed.publish(event);
    this.journal.append({ ...event, sessionId: this.feed.sessionId }, state && this.#viewOf(state));
  }

  /** Tells the page what has become of plan and tasks, if anything has. */
  async refreshWork(): Promise<void> {
    const state = await this.#state();
    if (!state) return;
    const work = await readSideWork(state, this.#options);
    if (!isDeepStrictEqual(work, this.feed.transcript.work))
      this.feed.publish({ type: 'work.changed', work });
  }

  /** Resolves when every event so far has been told. */
  async settled(): Promise<void> {
    await this.#handled;
    await this.journal.flush();
  }

  async #tell(event: AgentEvent): Promise<void> {
    // As it is now: the call goes on meanwhile.
    const state = event.type === 'context.compacted' ? await this.#state() : undefined;
    const page = toPageEvent(
      event,
      event.type === 'context.compacted' && state ? this.#details(event.manifest, state) : {},
    );
    const isLast = page.type === 'context.compacted' && !this.feed.transcript.call;
    if (page.type === 'call.completed' || page.type === 'call.failed' || isLast) this.ending = true;
    this.feed.publish(page);
    this.journal.append(page, state && this.#viewOf(state));
    if (event.type === 'tool.result' && event.result.toolName === 'todo_write') {
      const todos = (await this.#state())?.tasksContext.todos ?? [];
      this.feed.publish({ type: 'todos.changed', todos });
    }
    if (changesSideWork(page)) await this.refreshWork();
  }

  /** The conversation as the journal keeps it: without what was said after the events told so far. */
  #viewOf({ context }: AgentState): readonly (string | Message)[] {
    const { entries, fates } = this.feed.transcript;
    const told = new Set(entries.map(({ id }) => id));
    const end = context.findLastIndex(({ id, kind }) => kind === 'summary' || told.has(id)) + 1;
    return context
      .slice(0, end)
      .map((message) => (told.has(message.id) && !fates[message.id] ? message.id : message));
  }

  #details(manifest: readonly ManifestEntry[], state: AgentState): CompactionDetails {
    const before = this.feed.transcript.context;
    return {
      summary: state.summary,
      stubs: stubsAfter(manifest, state.context),
      context: before && contextAfter(before, state.context, this.#options.counter),
    };
  }

  #state(): Promise<AgentState | undefined> {
    return this.#options.agent.state(this.#options.context);
  }
}

/** Tools by whose results the plan or a task may have changed. */
const WORK_TOOL = /^(?:plan_|agent_|task_)/;

function changesSideWork(event: PageEvent): boolean {
  if (event.type === 'tool.result') return WORK_TOOL.test(event.result.toolName);
  return event.type === 'task.changed' || event.type === 'call.completed';
}

async function readTranscript(options: LiveSessionOptions, journal: EventJournal): Promise<Transcript> {
  const { agent, key, context } = options;
  let transcript = emptyTranscript(key.parts.sessionId);
  for (const event of await journal.read()) transcript = foldEvent(transcript, event);
  const state = await agent.state(context);
  const logged = transcript.entries.flatMap((entry) => (entry.type === 'message' ? [entry.message] : []));
  const lost = neverStored(logged, state?.context ?? []);
  // Calls and tools that ran when the other process ended are over.
  return {
    ...transcript,
    entries: transcript.entries.filter(({ id }) => !lost.has(id)),
    todos: state?.tasksContext.todos ?? [],
    pending: state ? pendingCalls(state) : [],
    work: state ? await readSideWork(state, options) : transcript.work,
    call: undefined,
    compacting: undefined,
  };
}

/** The agent's event for the page; `details` adds to `context.compacted` what only the backend knows. */
function toPageEvent(event: AgentEvent, details: CompactionDetails = {}): PageEvent {
  if (event.type === 'call.failed') return { ...event, error: toErrorInfo(event.error) };
  if (event.type === 'context.compacted') return { ...event, ...details };
  return event;
}

/** An error for people: its own code where it has one, never a stack. */
function toErrorInfo(error: unknown): ErrorInfo {
  if (XError.isInstance(error)) return { code: error.code, message: error.message };
  return { code: 'internal', message: errorText(error) };
}
