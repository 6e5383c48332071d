import { estimateCounter, type Message, type PinProof, type Receipt, textOf, userMessage } from '@x/core';
import type { Decisions } from '@x/harness';
import { renderCall, requestAt } from '@x/harness/view';
import { requestView } from '../../src/backend/inspect.js';
import type {
  BackendInfo,
  FileText,
  PageEvent,
  RequestView,
  Sent,
  SessionState,
  SessionSummary,
} from '../../src/page.js';
import { BackendError } from '../../src/server/errors.js';
import type { PageBackend } from '../../src/server/routes.js';
import { type Told, told } from '../transcript.js';
import { allSourcesOf } from './repository-text.js';
import { chat, manualCompaction, outage, survey } from './scenarios.js';
import { type Beat, Stage } from './stage.js';

const WINDOW = 24_000;
const DAY = 86_400_000;
/** Events that are not part of a history, as with a real backend. */
const PASSING = new Set(['text.delta', 'thinking.delta', 'tool.progress', 'context.compacting']);

/** One session: what happened, and who listens. */
class FakeSession {
  readonly events: PageEvent[] = [];
  readonly listeners = new Set<(sent: Sent) => void>();
  readonly stage: Stage;
  readonly pins: PinProof[] = [];
  /** Messages that were sent during a call. */
  readonly queued: Message[] = [];
  playing: AbortController | undefined;
  /** By path, the files that are there. */
  readonly replaced = new Map([['docs/release.md', allSourcesOf('packages/core/src/messages')]]);
  updatedAt: string;
  #state: Partial<SessionState> = {};

  readonly id: string;

  constructor(id: string, startsAt: Date) {
    this.id = id;
    this.stage = new Stage({ prefix: id, window: WINDOW, startsAt });
    this.updatedAt = startsAt.toISOString();
  }

  get transcript(): Told {
    return told([
      { type: 'history', events: this.events },
      { type: 'state', state: this.state },
    ]);
  }

  get state(): SessionState {
    const { todos } = told([]);
    const decided = new Set<string>();
    for (const event of this.events)
      if (event.type === 'permission.decided') decided.add(event.call.approvalId);
    const asked = this.events.findLast((event) => event.type === 'permission.required');
    const calls = asked?.type === 'permission.required' ? asked.calls : [];
    const pending = calls
      .filter(({ approvalId }) => !decided.has(approvalId))
      .map((call) => ({
        ...call,
        seen: renderCall(call, { before: this.replaced.get(renderCall(call).change?.path ?? '') ?? null }),
      }));
    return { running: this.playing !== undefined, todos, pending, queued: [...this.queued], ...this.#state };
  }

  publish(beat: Exclude<Beat, { readonly type: 'gate' }>): void {
    if (beat.type === 'state') this.#state = { ...this.#state, ...beat.state };
    else {
      const at = beat.at ?? new Date().toISOString();
      this.events.push({ ...beat, callId: 'call', seq: this.events.length + 1, at } as PageEvent);
    }
    const sent = beat.type === 'state' ? ({ type: 'state', state: this.state } as const) : this.events.at(-1);
    const changes = /^(?:call|permission)\.|^context\.compacted$/.test(beat.type);
    const items = [sent, changes ? ({ type: 'state', state: this.state } as const) : undefined];
    for (const listener of this.listeners) for (const item of items) if (item) listener(item);
  }
}

interface FakeOptions {
  /** Between two events, to see them come. Default 0: as fast as it goes. */
  readonly pauseMs?: number;
}

/**
 * A backend without an agent: plays scripted sessions to the page. A test holds the play at a gate, looks, and releases
 * it; nothing depends on time.
 */
export class FakeBackend implements PageBackend {
  readonly #sessions = new Map<string, FakeSession>();
  readonly #pauseMs: number;
  readonly #held = new Set<string>();
  #wake: (() => void)[] = [];
  model: BackendInfo['model'] = { id: 'embedded guide', embedded: true };

  constructor(options: FakeOptions = {}) {
    this.#pauseMs = options.pauseMs ?? 0;
  }

  /** From now on the play stops whenever it comes to this gate. */
  hold(gate: string): void {
    this.#held.add(gate);
  }

  /** Lets go on what stands at the gate, and no longer stops there. */
  release(gate: string): void {
    this.#held.delete(gate);
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }

  /** A session in which all this has happened already. */
  seed(sessionId: string, play: (stage: Stage) => Iterable<Beat>, daysAgo = 0): void {
    const session = this.#create(sessionId, new Date(Date.now() - daysAgo * DAY - 3_600_000));
    for (const beat of play(session.stage)) if (beat.type !== 'gate') session.publish(beat);
    session.updatedAt = new Date(Date.now() - daysAgo * DAY - 60_000).toISOString();
  }

  async info(): Promise<BackendInfo> {
    return {
      model: this.model,
      contextWindow: WINDOW,
      triggerTokens: WINDOW * 0.8,
    };
  }

  async sessions(words: readonly string[] = []): Promise<readonly SessionSummary[]> {
    const summaries = [...this.#sessions].flatMap(([id, { transcript, stage, updatedAt, playing }]) => {
      const found = stage.log.find((message) =>
        words.every((word) => textOf(message).toLowerCase().includes(word.toLowerCase())),
      );
      const summary = { id, title: transcript.title, updatedAt, running: playing !== undefined };
      if (words.length === 0) return [summary];
      if (found === undefined) return [];
      return [{ ...summary, found: { text: textOf(found).slice(0, 120), messageId: found.id } }];
    });
    return summaries.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
  }

  /** What a page shows that reads the session now. */
  transcript(sessionId: string): Told {
    return this.#find(sessionId).transcript;
  }

  async state(sessionId: string): Promise<SessionState> {
    return this.#find(sessionId).state;
  }

  async *events(sessionId: string, signal: AbortSignal): AsyncGenerator<Sent> {
    const session = this.#find(sessionId);
    const { events } = session;
    const isKept = ({ type }: PageEvent) => !PASSING.has(type);
    const last = events.findLastIndex(isKept);
    const waiting: Sent[] = [
      { type: 'history', events: events.filter(isKept) },
      { type: 'state', state: session.state },
      ...events.slice(last + 1),
    ];
    let wake = () => {};
    const listener = (sent: Sent) => {
      waiting.push(sent);
      wake();
    };
    session.listeners.add(listener);
    signal.addEventListener('abort', () => wake());
    try {
      while (!signal.aborted && this.#sessions.get(sessionId) === session) {
        const next = waiting.shift();
        if (next) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      session.listeners.delete(listener);
    }
  }

  async send(sessionId: string, text: string): Promise<void> {
    const session = this.#sessions.get(sessionId) ?? this.#create(sessionId, new Date());
    // Any other message is refused while the agent is at work.
    if (session.playing && text.startsWith('Also')) return void session.queued.push(userMessage(text));
    const play = /survey/i.test(text) ? survey : /fail|outage/i.test(text) ? outage : chat;
    this.#start(session, play(session.stage, text));
  }

  async stop(sessionId: string): Promise<readonly string[]> {
    const session = this.#find(sessionId);
    session.playing?.abort();
    for (const resolve of this.#wake.splice(0)) resolve();
    return session.queued.splice(0).map(textOf);
  }

  async compact(
    sessionId: string,
    { instructions }: { readonly instructions?: string | undefined } = {},
  ): Promise<void> {
    const session = this.#find(sessionId);
    this.#start(session, manualCompaction(session.stage, instructions));
  }

  async undo(sessionId: string): Promise<void> {
    const session = this.#find(sessionId);
    const beats = [...session.stage.undo()];
    if (beats.length === 0) throw new BackendError('nothing_to_undo', 'There is no compaction to undo.');
    for (const beat of beats) if (beat.type !== 'gate') session.publish(beat);
  }

  async decide(sessionId: string, decisions: Decisions): Promise<void> {
    const session = this.#find(sessionId);
    const waiting = new Set(session.transcript.pending.map(({ id }) => id));
    if (Object.keys(decisions).some((id) => !waiting.has(id))) {
      throw new BackendError('not_pending', 'This was decided already.');
    }
    this.#start(session, session.stage.decide(decisions));
  }

  async request(sessionId: string, place?: number): Promise<RequestView> {
    const { stage, events } = this.#find(sessionId);
    const { context: messages } = stage;
    const now = { messages, before: messages.slice(0, -1), usage: stage.usage() };
    const seen = place === undefined ? now : requestAt(events, place);
    if (seen) return requestView(seen, estimateCounter);
    throw new BackendError('not_found', `The session has no request or compaction ${place}.`);
  }

  async pin(sessionId: string, messageId: string): Promise<void> {
    const { stage, pins } = this.#find(sessionId);
    const text = stage.log.flatMap((message) => (message.id === messageId ? [textOf(message)] : [])).join();
    pins.push({ id: `p${pins.length + 1}`, text, messageId, heldBy: messageId });
  }

  async unpin(sessionId: string, id: string): Promise<void> {
    const { pins } = this.#find(sessionId);
    pins.splice(0, pins.length, ...pins.filter((pin) => pin.id !== id));
  }

  async receipt(sessionId: string): Promise<Receipt> {
    const { stage, pins, transcript } = this.#find(sessionId);
    const [asked] = stage.log;
    const gone = transcript.fates.size;
    const item = { kind: 'request', at: 1, left: 'record' } as const;
    return {
      all: stage.log.length,
      seen: stage.log.length - gone,
      gone,
      cost: { modelCalls: 0, inputTokens: 0, outputTokens: 0, savedTokens: 0 },
      found: gone > 0 && asked ? { request: 1 } : {},
      items: gone > 0 && asked ? [{ ...item, messageId: asked.id, text: textOf(asked) }] : [],
      pins,
      markdown: '',
    };
  }

  async remove(sessionId: string): Promise<void> {
    const session = this.#find(sessionId);
    session.playing?.abort();
    this.#sessions.delete(sessionId);
    for (const listener of session.listeners) listener({ type: 'state', state: session.state });
  }

  async files() {
    const modifiedAt = '2026-11-20T12:00:00.000Z';
    return [
      { path: 'REPORT.md', size: 4_200, modifiedAt, isMemory: false },
      { path: 'agents/guide/MEMORY.md', size: 224, modifiedAt, isMemory: true },
    ];
  }

  async readFile(): Promise<FileText> {
    const text = `# Report\n\n## Sources\n\n${allSourcesOf('packages/core/src/config')}`;
    return { text, size: Buffer.byteLength(text) };
  }

  #find(sessionId: string): FakeSession {
    const session = this.#sessions.get(sessionId);
    if (!session)
      throw new BackendError('session_not_found', 'There is no such conversation; it may have been deleted.');
    return session;
  }

  #create(sessionId: string, startsAt: Date): FakeSession {
    const session = new FakeSession(sessionId, startsAt);
    this.#sessions.set(sessionId, session);
    return session;
  }

  #start(session: FakeSession, beats: Generator<Beat>): void {
    if (session.playing)
      throw new BackendError('session_busy', 'The agent is still at work; wait for it, or stop it.');
    const playing = new AbortController();
    session.playing = playing;
    session.updatedAt = new Date().toISOString();
    void this.#play(session, beats, playing.signal).finally(() => {
      session.playing = undefined;
    });
  }

  async #play(session: FakeSession, beats: Generator<Beat>, signal: AbortSignal): Promise<void> {
    for (const beat of beats) {
      if (beat.type === 'gate') {
        while (this.#held.has(beat.name) && !signal.aborted) {
          await new Promise<void>((resolve) => this.#wake.push(resolve));
        }
        continue;
      }
      if (signal.aborted) {
        for (const last of session.stage.end('interrupted')) if (last.type !== 'gate') session.publish(last);
        return;
      }
      session.publish(beat);
      if (this.#pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    }
  }
}
