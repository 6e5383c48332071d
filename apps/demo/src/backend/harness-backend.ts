import { type AgentEvent, RuntimeContext, SessionKey, type TokenCounter, textOf } from '@x/core';
import { AGENT, type DemoAgent } from '../create-agent.js';
import type { Backend, BackendInfo, ExpandedMessage, FilePart, SessionSummary } from '../server/backend.js';
import { BackendError } from '../server/backend-error.js';
import type { SessionSnapshot, StampedEvent } from '../server/session-feed.js';
import { LiveSession } from './live-session.js';

interface HarnessBackendOptions {
  readonly demo: DemoAgent;
  readonly counter: TokenCounter;
  readonly info: BackendInfo;
}

const decoder = new TextDecoder();

/** The page's backend over the demo's agent. Give {@link HarnessBackend.onEvent} to the agent as its listener. */
export class HarnessBackend implements Backend {
  readonly #demo: DemoAgent;
  readonly #counter: TokenCounter;
  readonly #info: BackendInfo;
  readonly #live = new Map<string, Promise<LiveSession>>();
  /** By session and version: what a list shows of a session changes only when it is stored anew. */
  readonly #summaries = new Map<string, { readonly version: number; readonly summary: SessionSummary }>();

  constructor({ demo, counter, info }: HarnessBackendOptions) {
    this.#demo = demo;
    this.#counter = counter;
    this.#info = info;
  }

  /** Hears what the agent does. */
  onEvent(event: AgentEvent): void {
    void this.#open(event.sessionId).then((session) => session.handle(event));
  }

  /** Goes on with every call that an earlier process left unfinished. Answers how many. */
  async resumeInterrupted(): Promise<number> {
    let resumed = 0;
    for await (const { key } of this.#demo.store.list({ agentId: AGENT })) {
      const { sessionId } = key.parts;
      const state = await this.#demo.agent.state(contextOf(sessionId));
      if (state?.activeCall === undefined) continue;
      await this.#start(sessionId, () => drain(this.#demo.agent.resumeStream(contextOf(sessionId))));
      resumed++;
    }
    return resumed;
  }

  async info(): Promise<BackendInfo> {
    return this.#info;
  }

  async sessions(): Promise<readonly SessionSummary[]> {
    const summaries: SessionSummary[] = [];
    for await (const { key, version, updatedAt } of this.#demo.store.list({ agentId: AGENT })) {
      summaries.push(await this.#summarise(key.parts.sessionId, version, updatedAt));
    }
    summaries.push(...(await this.#begun(new Set(summaries.map(({ id }) => id)))));
    return summaries.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
  }

  async transcript(sessionId: string): Promise<SessionSnapshot> {
    await this.#requireSession(sessionId);
    const session = await this.#open(sessionId);
    return session.feed.snapshot;
  }

  async send(sessionId: string, text: string): Promise<void> {
    await this.#start(sessionId, () => drain(this.#demo.agent.stream(text, contextOf(sessionId))));
  }

  async stop(sessionId: string): Promise<void> {
    this.#demo.agent.interrupt(contextOf(sessionId));
  }

  async compact(sessionId: string, instructions?: string): Promise<void> {
    await this.#requireSession(sessionId);
    await this.#start(sessionId, () =>
      this.#demo.agent.compact(contextOf(sessionId), instructions === undefined ? {} : { instructions }),
    );
  }

  async undo(sessionId: string, compactionId: string): Promise<void> {
    await this.#requireSession(sessionId);
    const session = await this.#open(sessionId);
    if (session.busy) throw busyError();
    session.busy = true;
    try {
      if (!(await this.#demo.agent.undo(contextOf(sessionId)))) {
        throw new BackendError('nothing_to_undo', 'There is no compaction that could be taken back.');
      }
      await session.restored(compactionId);
    } finally {
      session.busy = false;
    }
  }

  async remove(sessionId: string): Promise<void> {
    await this.#requireSession(sessionId);
    const session = await this.#open(sessionId);
    this.#demo.agent.interrupt(contextOf(sessionId));
    while (session.busy) await new Promise((resolve) => setTimeout(resolve, 20));
    await session.settled();
    const { workspace, store, agent } = this.#demo;
    await store.delete(keyOf(sessionId));
    await workspace.delete(agent.log(contextOf(sessionId)).location);
    await workspace.delete(session.journal.path);
    this.#live.delete(sessionId);
    this.#summaries.delete(sessionId);
  }

  subscribe(
    sessionId: string,
    afterEventId: string | undefined,
    listener: (event: StampedEvent) => void,
  ): () => void {
    let ended = false;
    let end = () => {};
    void this.#open(sessionId).then((session) => {
      if (!ended) end = session.feed.subscribe(afterEventId, listener);
    });
    return () => {
      ended = true;
      end();
    };
  }

  async expand(sessionId: string, messageId: string): Promise<ExpandedMessage> {
    await this.#requireSession(sessionId);
    const context = contextOf(sessionId);
    const original = await this.#demo.agent.log(context).get(messageId);
    if (original === undefined) {
      throw new BackendError('message_not_found', `The log of this session has no message ${messageId}.`);
    }
    const state = await this.#demo.agent.state(context);
    return { original, current: state?.context.find((message) => message.id === messageId) };
  }

  async readFile(
    path: string,
    { offset, length }: { readonly offset: number; readonly length: number },
  ): Promise<FilePart> {
    const { workspace } = this.#demo;
    const bytes = await workspace.read(path, { offset, length });
    const size = (await workspace.stat(path))?.size ?? bytes.length;
    const next = offset + bytes.length;
    return { path, text: decoder.decode(bytes), size, offset, ...(next < size ? { nextOffset: next } : {}) };
  }

  /** Waits until everything that was told has been stored. */
  async close(): Promise<void> {
    for (const session of this.#live.values()) await (await session).settled();
  }

  async #start(sessionId: string, run: () => Promise<unknown>): Promise<void> {
    const session = await this.#open(sessionId);
    if (session.busy) throw busyError();
    session.busy = true;
    // What goes wrong is told by `call.failed`, which the page shows.
    void run()
      .catch(() => {})
      .finally(() => {
        session.busy = false;
      });
  }

  #open(sessionId: string): Promise<LiveSession> {
    const known = this.#live.get(sessionId);
    if (known) return known;
    const { agent, workspace } = this.#demo;
    const opening = LiveSession.open({
      agent,
      workspace,
      key: keyOf(sessionId),
      context: contextOf(sessionId),
      counter: this.#counter,
    });
    this.#live.set(sessionId, opening);
    // A session that could not be read is tried again the next time.
    opening.catch(() => this.#live.delete(sessionId));
    return opening;
  }

  async #requireSession(sessionId: string): Promise<void> {
    if (this.#live.has(sessionId) || (await this.#demo.agent.state(contextOf(sessionId)))) return;
    throw new BackendError('session_not_found', `There is no session ${sessionId}.`);
  }

  /** Sessions whose first call runs and has not been stored yet. */
  async #begun(stored: ReadonlySet<string>): Promise<readonly SessionSummary[]> {
    const begun: SessionSummary[] = [];
    for (const [id, opening] of this.#live) {
      const { busy, feed } = await opening;
      if (stored.has(id) || !busy) continue;
      const { title, entries, call } = feed.transcript;
      const updatedAt = call?.startedAt ?? new Date().toISOString();
      begun.push({ id, title: title || id, updatedAt, running: true, messageCount: entries.length });
    }
    return begun;
  }

  async #summarise(sessionId: string, version: number, updatedAt: string): Promise<SessionSummary> {
    const live = await this.#live.get(sessionId);
    const known = this.#summaries.get(sessionId);
    if (known?.version === version) return { ...known.summary, running: live?.busy ?? false };
    const state = await this.#demo.agent.state(contextOf(sessionId));
    const asked = state?.context.find((message) => message.role === 'user' && message.kind === undefined);
    const summary: SessionSummary = {
      id: sessionId,
      title: live?.feed.transcript.title || (asked ? textOf(asked).slice(0, 120) : sessionId),
      updatedAt,
      running: live?.busy ?? false,
      messageCount: live ? live.feed.transcript.entries.length : (state?.context.length ?? 0),
    };
    this.#summaries.set(sessionId, { version, summary });
    return summary;
  }
}

function busyError(): BackendError {
  return new BackendError(
    'session_busy',
    'The agent is still at work in this session; stop it, or wait until it is done.',
  );
}

function contextOf(sessionId: string): RuntimeContext {
  return RuntimeContext.of({ sessionId });
}

function keyOf(sessionId: string): SessionKey {
  return SessionKey.of({ agentId: AGENT, sessionId });
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
