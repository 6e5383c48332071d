import { estimateCounter, type PermissionContext, WorkspaceError } from '@x/core';
import type { Decisions } from '@x/harness';
import { requestView } from '../../src/backend/inspect.js';
import type {
  Backend,
  BackendInfo,
  ExpandedMessage,
  FilePart,
  RequestView,
  SessionSummary,
} from '../../src/server/backend.js';
import { BackendError } from '../../src/server/errors.js';
import { SessionFeed, type SessionSnapshot, type StampedEvent } from '../../src/server/session-feed.js';
import type { PageEventBody } from '../../src/server/transcript.js';
import { FakeMemory } from './fake-memory.js';
import { allSourcesOf } from './repository-text.js';
import { chat, manualCompaction, outage, survey } from './scenarios.js';
import { type Beat, Stage } from './stage.js';

const WINDOW = 24_000;
const DAY = 86_400_000;

interface FakeSession {
  readonly feed: SessionFeed;
  readonly stage: Stage;
  updatedAt: string;
  playing: AbortController | undefined;
}

interface FakeOptions {
  /** Between two events, to see them come. Default 0: as fast as it goes. */
  readonly pauseMs?: number;
}

/**
 * A backend without an agent: plays scripted sessions to the page. A test holds the play at a gate, looks, and releases
 * it; nothing depends on time.
 */
export class FakeBackend implements Backend {
  readonly #sessions = new Map<string, FakeSession>();
  readonly #pauseMs: number;
  readonly #held = new Set<string>();
  #wake: (() => void)[] = [];
  readonly memory = new FakeMemory();
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
    for (const beat of play(session.stage)) if (beat.type !== 'gate') session.feed.publish(beat);
    session.updatedAt = session.feed.transcript.entries.length
      ? new Date(Date.now() - daysAgo * DAY - 60_000).toISOString()
      : session.updatedAt;
  }

  async info(): Promise<BackendInfo> {
    return {
      version: '0.1.0',
      model: this.model,
      contextWindow: WINDOW,
      triggerTokens: WINDOW * 0.8,
      storage: 'files in ~/projects/x/.x',
      plans: true,
      starters: [
        {
          icon: 'survey',
          title: 'Survey this repository',
          description: 'Lists, searches and reads until the window fills, then explains the layout.',
          prompt: 'Survey this repository and explain how it is laid out',
        },
        {
          icon: 'ask',
          title: 'Ask about it',
          description: 'A question whose answer is in the source: where is the rule, and what does it say?',
          prompt: 'How does a compaction work?',
        },
        {
          icon: 'write',
          title: 'Watch a compaction',
          description: 'Reads more than fits, and shows what was removed and what it cost.',
          prompt: 'Survey this repository until the window is full',
        },
      ],
    };
  }

  async sessions(): Promise<readonly SessionSummary[]> {
    const summaries = [...this.#sessions].map(([id, { feed, updatedAt, playing }]) => ({
      id,
      title: feed.transcript.title,
      updatedAt,
      running: playing !== undefined,
      messageCount: feed.transcript.entries.filter((entry) => entry.type === 'message').length,
    }));
    return summaries.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
  }

  async transcript(sessionId: string): Promise<SessionSnapshot> {
    return this.#find(sessionId).feed.snapshot;
  }

  async send(sessionId: string, text: string): Promise<void> {
    const session = this.#sessions.get(sessionId) ?? this.#create(sessionId, new Date());
    const play = /survey/i.test(text) ? survey : /fail|outage/i.test(text) ? outage : chat;
    this.#start(session, play(session.stage, text));
  }

  async stop(sessionId: string): Promise<void> {
    this.#find(sessionId).playing?.abort();
    for (const resolve of this.#wake.splice(0)) resolve();
  }

  async compact(sessionId: string, instructions?: string): Promise<void> {
    const session = this.#find(sessionId);
    this.#start(session, manualCompaction(session.stage, instructions));
  }

  async undo(sessionId: string, compactionId: string): Promise<void> {
    const session = this.#find(sessionId);
    const beats = [...session.stage.undo(compactionId)];
    if (beats.length === 0)
      throw new BackendError('nothing_to_undo', 'Only the last compaction can be undone.');
    for (const beat of beats) session.feed.publish(beat as PageEventBody);
  }

  async decide(sessionId: string, decisions: Decisions): Promise<void> {
    const session = this.#find(sessionId);
    const waiting = new Set(session.feed.transcript.pending.map(({ id }) => id));
    if (Object.keys(decisions).some((id) => !waiting.has(id))) {
      throw new BackendError('not_pending', 'This was decided already.');
    }
    this.#start(session, session.stage.decide(decisions));
  }

  async request(sessionId: string): Promise<RequestView> {
    const { stage } = this.#find(sessionId);
    const { context: messages } = stage;
    return requestView({ messages, before: messages.slice(0, -1), usage: stage.usage() }, estimateCounter);
  }

  async setPermissionMode(sessionId: string, permissionMode: PermissionContext['mode']): Promise<void> {
    const { feed } = this.#find(sessionId);
    feed.publish({ type: 'work.changed', work: { ...feed.transcript.work, permissionMode } });
  }

  async setPlanMode(sessionId: string, active: boolean): Promise<void> {
    const { feed } = this.#find(sessionId);
    const { work } = feed.transcript;
    feed.publish({ type: 'work.changed', work: { ...work, plan: { ...work.plan, active } } });
  }

  async remove(sessionId: string): Promise<void> {
    this.#find(sessionId).playing?.abort();
    this.#sessions.delete(sessionId);
  }

  subscribe(sessionId: string, afterEventId: string, listener: (event: StampedEvent) => void): () => void {
    return this.#sessions.get(sessionId)?.feed.subscribe(afterEventId, listener) ?? (() => {});
  }

  async expand(sessionId: string, messageId: string): Promise<ExpandedMessage> {
    const { stage } = this.#find(sessionId);
    const original = stage.log.find((message) => message.id === messageId);
    if (!original) throw new BackendError('message_not_found', 'The log has no such message.');
    return { original, current: stage.context.find((message) => message.id === messageId) };
  }

  async files() {
    return [{ path: 'REPORT.md', size: 4_200, modifiedAt: '2026-11-20T12:00:00.000Z' }];
  }

  async readFile(path: string, range: { offset: number; length: number }): Promise<FilePart> {
    if (path === 'new.md') throw new WorkspaceError('not_found', path, '"new.md" does not exist.');
    const whole = Buffer.from(`# Report\n\n## Sources\n\n${allSourcesOf('packages/core/src')}`);
    const end = Math.min(whole.length, range.offset + range.length);
    const text = whole.subarray(range.offset, end).toString();
    return {
      path,
      text,
      size: whole.length,
      nextOffset: end < whole.length ? end : undefined,
    };
  }

  #find(sessionId: string): FakeSession {
    const session = this.#sessions.get(sessionId);
    if (!session)
      throw new BackendError('session_not_found', 'There is no such conversation; it may have been deleted.');
    return session;
  }

  #create(sessionId: string, startsAt: Date): FakeSession {
    const session: FakeSession = {
      feed: new SessionFeed(sessionId),
      stage: new Stage({ prefix: sessionId, window: WINDOW, startsAt }),
      updatedAt: startsAt.toISOString(),
      playing: undefined,
    };
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
        for (const last of session.stage.end('interrupted')) session.feed.publish(last as PageEventBody);
        return;
      }
      session.feed.publish(beat);
      if (this.#pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    }
  }
}
