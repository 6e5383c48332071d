import { errorText, RuntimeContext, type SessionInfo, SessionKey, SessionStoreError } from '@x/core';
import { AGENT, type DemoAgent } from '../create-agent.js';
import type { SessionSummary } from '../server/backend.js';
import type { LiveSession } from './live-session.js';

/** The sessions as a list shows them: those that are stored, and those that have only just begun. */
export class SessionList {
  readonly #demo: DemoAgent;
  readonly #live: ReadonlyMap<string, Promise<LiveSession>>;
  /** By session and version: what a list shows of a session changes only when it is stored anew. */
  readonly #summaries = new Map<string, { readonly version: number; readonly summary: SessionSummary }>();

  constructor(demo: DemoAgent, live: ReadonlyMap<string, Promise<LiveSession>>) {
    this.#demo = demo;
    this.#live = live;
  }

  /** Lists the stored sessions. A damaged one is left out with a warning, and named in `damaged`. */
  async *stored(damaged?: Set<string>): AsyncIterable<SessionInfo> {
    try {
      yield* this.#demo.store.list({ agentId: AGENT });
    } catch (error) {
      // A store tells of them when it has listed all others.
      if (!isCorrupt(error)) throw error;
      warn(error);
      const errors: readonly unknown[] = error.cause instanceof AggregateError ? error.cause.errors : [error];
      for (const each of errors) {
        const encoded = SessionStoreError.isInstance(each) ? each.sessionKey : undefined;
        if (encoded !== undefined) damaged?.add(SessionKey.parse(encoded).parts.sessionId);
      }
    }
  }

  /** All of them, the most recently used first. */
  async summaries(): Promise<readonly SessionSummary[]> {
    const summaries: SessionSummary[] = [];
    const damaged = new Set<string>();
    for await (const info of this.stored(damaged)) {
      const summary = await this.#summarize(info).catch((error) => {
        if (!isCorrupt(error)) throw error;
        damaged.add(info.key.parts.sessionId);
        return warn(error);
      });
      if (summary) summaries.push(summary);
    }
    for (const id of damaged) {
      summaries.push({ id, title: id, updatedAt: '', running: false, messageCount: 0, damaged: true });
    }
    summaries.push(...(await this.#begun(new Set(summaries.map(({ id }) => id)))));
    return summaries.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
  }

  /** Sessions whose first call runs and has not been stored yet. */
  async #begun(stored: ReadonlySet<string>): Promise<readonly SessionSummary[]> {
    const begun: SessionSummary[] = [];
    for (const [id, opening] of this.#live) {
      const live = await opening.catch(() => undefined);
      if (live === undefined || stored.has(id) || !live.busy) continue;
      const { title, entries, call } = live.feed.transcript;
      const updatedAt = call?.startedAt ?? new Date().toISOString();
      const messageCount = entries.filter(({ type }) => type === 'message').length;
      begun.push({ id, title: title || id, updatedAt, running: true, messageCount });
    }
    return begun;
  }

  async #summarize({ key, version, updatedAt, title }: SessionInfo): Promise<SessionSummary> {
    const { sessionId: id } = key.parts;
    const live = await this.#live.get(id)?.catch(() => undefined);
    const running = live?.busy === true && !live.ending;
    const known = this.#summaries.get(id);
    if (known?.version === version) return { ...known.summary, running };
    const context = RuntimeContext.of({ sessionId: id });
    // Lists do not read all that a session is: whether it can be opened shows here.
    await this.#demo.agent.state(context);
    // Of the whole session, as the page shows it: the store counts what the model still sees.
    let messageCount = 0;
    const log = this.#demo.agent.log(context);
    for await (const { kind } of log.read()) if (kind !== 'summary') messageCount++;
    const told = live?.feed.transcript.title || title || id;
    const summary = { id, title: told, updatedAt, running, messageCount };
    this.#summaries.set(id, { version, summary });
    return summary;
  }
}

function isCorrupt(error: unknown): error is SessionStoreError {
  return SessionStoreError.isInstance(error) && error.code === 'session_corrupt';
}

const told = new Set<string>();

/** Tells once of each thing that one session has wrong and that must not harm the others. */
export function warn(error: unknown): undefined {
  const message = errorText(error);
  if (!told.has(message)) process.emitWarning(message);
  told.add(message);
}
