import {
  type AgentEvent,
  type PermissionContext,
  RuntimeContext,
  SessionKey,
  type TokenCounter,
} from '@x/core';
import { type Decisions, pendingCalls } from '@x/harness';
import { AGENT, type DemoAgent } from '../create-agent.js';
import type {
  Backend,
  BackendInfo,
  ExpandedMessage,
  FileInfo,
  FilePart,
  RequestView,
  SessionSummary,
} from '../server/backend.js';
import { BackendError } from '../server/errors.js';
import type { SessionSnapshot, StampedEvent } from '../server/session-feed.js';
import { requestView } from './inspect.js';
import { LiveSession } from './live-session.js';
import { SessionList, warn } from './session-list.js';
import { WorkspaceMemory } from './workspace-memory.js';

interface HarnessBackendOptions {
  readonly demo: DemoAgent;
  readonly counter: TokenCounter;
  readonly info: BackendInfo;
}

const decoder = new TextDecoder();
/** Files that the page lists at most. */
const MAX_FILES = 50;
/** How often other servers' sessions are looked at. */
const WATCH_INTERVAL_MS = 1_000;

/** The page's backend over the demo's agent. Give {@link HarnessBackend.onEvent} to the agent as its listener. */
export class HarnessBackend implements Backend {
  readonly memory: WorkspaceMemory;
  readonly #demo: DemoAgent;
  readonly #counter: TokenCounter;
  readonly #info: BackendInfo;
  readonly #live = new Map<string, Promise<LiveSession>>();
  /** By session, the stored version in which no call was open. */
  readonly #orderly = new Map<string, number>();
  readonly #list: SessionList;

  constructor({ demo, counter, info }: HarnessBackendOptions) {
    this.memory = new WorkspaceMemory({ workspace: demo.storage, index: demo.memoryIndex });
    this.#demo = demo;
    this.#counter = counter;
    this.#info = info;
    this.#list = new SessionList(demo, this.#live);
  }

  /** Hears what the agent does. */
  onEvent(event: AgentEvent): void {
    void this.#open(event.sessionId).then((session) => session.handle(event), warn);
  }

  /** Goes on with every call that an earlier process left unfinished. Answers how many. */
  async resumeInterrupted(): Promise<number> {
    let resumed = 0;
    for await (const { key } of this.#list.stored()) {
      const { sessionId } = key.parts;
      const state = await this.#demo.agent.state(this.#context(sessionId)).catch(warn);
      if (state?.activeCall === undefined) continue;
      await this.#start(sessionId, () => drain(this.#demo.agent.resumeStream(this.#context(sessionId))));
      resumed++;
    }
    return resumed;
  }

  /**
   * Follows what other servers that share the store do: their sessions are shown as they are stored, and a call whose
   * server died is taken over once its lease has run out. Answers a function that ends it.
   */
  watch(intervalMs = WATCH_INTERVAL_MS): () => void {
    let ended = false;
    const look = async () => {
      await this.#follow().catch((error: unknown) => {
        process.emitWarning(`Other servers' sessions cannot be followed: ${String(error)}`);
      });
      if (!ended) timer = setTimeout(look, intervalMs).unref();
    };
    let timer = setTimeout(look, intervalMs).unref();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }

  async #follow(): Promise<void> {
    for await (const { key, version } of this.#list.stored()) {
      const { sessionId } = key.parts;
      const live = await this.#live.get(sessionId);
      if (live?.busy) continue;
      if (live !== undefined && live.version !== version) {
        // After a call of our own there may be nothing to tell; another server may also have gone on already.
        if (live.version !== undefined || !(await live.tellsAll())) await live.reload();
        live.version = version;
      }
      if (this.#orderly.get(sessionId) !== version) await this.#takeOver(sessionId, version);
    }
  }

  /** Goes on with a call whose process has ended. */
  async #takeOver(sessionId: string, version: number): Promise<void> {
    const state = await this.#demo.agent.state(this.#context(sessionId));
    if (state?.activeCall === undefined) {
      this.#orderly.set(sessionId, version);
      return;
    }
    if ((await this.#demo.store.isLeased?.(this.#key(sessionId))) !== false) return;
    await (await this.#open(sessionId)).reload();
    await this.#start(sessionId, () => drain(this.#demo.agent.resumeStream(this.#context(sessionId))));
  }

  async info(): Promise<BackendInfo> {
    return this.#info;
  }

  sessions(): Promise<readonly SessionSummary[]> {
    return this.#list.summaries();
  }

  async transcript(sessionId: string): Promise<SessionSnapshot> {
    return (await this.#known(sessionId)).feed.snapshot;
  }

  async send(sessionId: string, text: string): Promise<void> {
    const live = await this.#open(sessionId);
    const context = this.#context(sessionId);
    const start = () => this.#start(sessionId, () => drain(this.#demo.agent.stream(text, context)));
    if (!live.feed.transcript.call || live.ending) return start();
    // Delivered at the next step; where the call ends before that, it begins one.
    void this.#demo.agent
      .steer(context, text)
      .then((delivered) => (delivered ? undefined : start()))
      .catch(warn);
  }

  async stop(sessionId: string): Promise<void> {
    this.#demo.agent.interrupt(this.#context(sessionId));
  }

  async compact(sessionId: string, instructions?: string): Promise<void> {
    await this.#requireSession(sessionId);
    await this.#start(sessionId, () =>
      this.#demo.agent.compact(this.#context(sessionId), instructions === undefined ? {} : { instructions }),
    );
  }

  async undo(sessionId: string, compactionId: string): Promise<void> {
    const session = await this.#known(sessionId);
    await this.#exclusively(session, async () => {
      if (!(await this.#demo.agent.undo(this.#context(sessionId)))) {
        throw new BackendError('nothing_to_undo', 'There is no compaction that could be taken back.');
      }
      await session.restored(compactionId);
    });
  }

  async decide(sessionId: string, decisions: Decisions): Promise<void> {
    await this.#requireSession(sessionId);
    const state = await this.#demo.agent.state(this.#context(sessionId));
    const pending = new Map((state ? pendingCalls(state) : []).map((call) => [call.approvalId, call]));
    const late = Object.keys(decisions).filter((id) => !pending.has(id));
    if (late.length > 0) {
      throw new BackendError('not_pending', 'This was decided already; the conversation says how.');
    }
    await this.#start(sessionId, () =>
      drain(this.#demo.agent.resumeStream(this.#context(sessionId), { decisions })),
    );
  }

  async request(sessionId: string, step?: number): Promise<RequestView> {
    const session = await this.#known(sessionId);
    if (step === undefined) {
      const state = await this.#demo.agent.state(this.#context(sessionId));
      // A session that has only just begun has no state to count.
      if (!state) throw new BackendError('session_not_found', 'Nothing of this session has been stored yet.');
      const messages = [...state.context];
      return requestView(
        { messages, before: messages, usage: session.feed.transcript.context },
        this.#counter,
      );
    }
    await session.settled();
    const pair = await session.journal.request(step);
    if (!pair) throw new BackendError('not_found', `The session has made no request ${step}.`);
    return requestView(pair, this.#counter);
  }

  async setPermissionMode(sessionId: string, mode: PermissionContext['mode']): Promise<void> {
    const session = await this.#known(sessionId);
    await this.#demo.agent.setPermissionMode(this.#context(sessionId), mode);
    await session.refreshWork();
  }

  async setPlanMode(sessionId: string, active: boolean): Promise<void> {
    const session = await this.#known(sessionId);
    await this.#exclusively(session, async () => {
      await this.#demo.agent.updateState(this.#context(sessionId), (state) => {
        state.planModeContext = { ...state.planModeContext, active };
      });
      await session.refreshWork();
    });
  }

  async remove(sessionId: string): Promise<void> {
    const session = await this.#known(sessionId);
    this.#demo.agent.interrupt(this.#context(sessionId));
    await session.running;
    await session.settled();
    const { storage, store, agent } = this.#demo;
    await store.delete(this.#key(sessionId));
    await storage.delete(agent.log(this.#context(sessionId)).location);
    await storage.delete(session.journal.path);
    this.#live.delete(sessionId);
  }

  subscribe(sessionId: string, afterEventId: string, listener: (event: StampedEvent) => void): () => void {
    let ended = false;
    let end = () => {};
    void this.#known(sessionId).then(
      (session) => {
        if (!ended) end = session.feed.subscribe(afterEventId, listener);
      },
      // Deleted in another tab: nothing is left to tell.
      (error) => (BackendError.isInstance(error) ? undefined : warn(error)),
    );
    return () => {
      ended = true;
      end();
    };
  }

  async expand(sessionId: string, messageId: string): Promise<ExpandedMessage> {
    await this.#requireSession(sessionId);
    const context = this.#context(sessionId);
    const original = await this.#demo.agent.log(context).get(messageId);
    if (original === undefined) {
      throw new BackendError('message_not_found', `The log of this session has no message ${messageId}.`);
    }
    const state = await this.#demo.agent.state(context);
    return { original, current: state?.context.find((message) => message.id === messageId) };
  }

  async files(): Promise<readonly FileInfo[]> {
    const files: FileInfo[] = [];
    for await (const { path, type, size, modifiedAt } of this.#demo.agent
      .files(this.#context('any'))
      .list('')) {
      if (type === 'file') files.push({ path, size, modifiedAt });
    }
    return files.sort((left, right) => right.modifiedAt.localeCompare(left.modifiedAt)).slice(0, MAX_FILES);
  }

  async readFile(
    path: string,
    { offset, length }: { readonly offset: number; readonly length: number },
  ): Promise<FilePart> {
    const { agent, storage } = this.#demo;
    // What the agent keeps for itself is there too.
    const isKept = await storage.stat(path).catch(() => undefined);
    const files = isKept ? storage : agent.files(this.#context('any'));
    const read = await files.read(path, { offset, length });
    const size = (await files.stat(path))?.size ?? read.length;
    const bytes = offset + read.length < size ? wholeCharacters(read) : read;
    const next = offset + bytes.length;
    return { path, text: decoder.decode(bytes), size, nextOffset: next < size ? next : undefined };
  }

  /** Waits until everything that was told has been stored. */
  async close(): Promise<void> {
    for (const session of this.#live.values()) await (await session).settled();
    await this.memory.close();
  }

  async #start(sessionId: string, run: () => Promise<unknown>): Promise<void> {
    const session = await this.#open(sessionId);
    // What has been damaged since is told now: a call that cannot begin tells nobody.
    await this.#demo.agent.state(this.#context(sessionId));
    // A call that has announced its end is about to be over: wait for it in place of refusing.
    if (session.ending) await session.running;
    if (session.busy) throw busyError();
    // Errors reach the page as `call.failed`.
    void this.#exclusively(session, run).catch(() => {});
  }

  /** Runs a task unless another one runs in the session. */
  async #exclusively(session: LiveSession, task: () => Promise<unknown>): Promise<void> {
    if (session.busy) throw busyError();
    const done = task();
    session.ending = false;
    session.running = Promise.resolve(done)
      .catch(() => {})
      .then(() => {
        session.running = undefined;
        session.version = undefined;
      });
    await done;
  }

  #context(sessionId: string): RuntimeContext {
    return RuntimeContext.of({ sessionId });
  }

  #key(sessionId: string): SessionKey {
    return SessionKey.of({ agentId: AGENT, sessionId });
  }

  #open(sessionId: string): Promise<LiveSession> {
    const known = this.#live.get(sessionId);
    if (known) return known;
    const opening = this.#read(sessionId);
    this.#live.set(sessionId, opening);
    // A session that could not be read is tried again the next time.
    opening.catch(() => this.#live.delete(sessionId));
    return opening;
  }

  async #read(sessionId: string): Promise<LiveSession> {
    const { agent, storage: workspace, store } = this.#demo;
    const [key, context] = [this.#key(sessionId), this.#context(sessionId)];
    // Before the rest: what is stored meanwhile is shown at the next look.
    const version = (await store.load(key))?.version;
    const session = await LiveSession.open({ agent, workspace, key, context, counter: this.#counter });
    session.version = version;
    return session;
  }

  /** Opens a session that there is. */
  async #known(sessionId: string): Promise<LiveSession> {
    await this.#requireSession(sessionId);
    return this.#open(sessionId);
  }

  async #requireSession(sessionId: string): Promise<void> {
    if (this.#live.has(sessionId) || (await this.#demo.agent.state(this.#context(sessionId)))) return;
    throw new BackendError('session_not_found', `There is no session ${sessionId}.`);
  }
}

/** Leaves out the beginning of a character at the end of UTF-8: it belongs to the next part. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  // A character has four bytes at most; all but its first are 10xxxxxx.
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return needed > back && back < bytes.length ? bytes.subarray(0, -back) : bytes;
  }
  return bytes;
}

function busyError(): BackendError {
  return new BackendError(
    'session_busy',
    'The agent is still at work in this session; stop it, or wait until it is done.',
  );
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
