import type { CallScope, Message, SessionLog, Tool, Workspace } from '@x/core';
import type { Redact } from '@x/core/internal';
import { isUserRequest } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import { isWhole, recallTool, SourceRecall } from './create-recall.js';

/** A reminder is worth at least so many tokens, and takes at most so many. */
const FEWEST_TOKENS = 120;
const MOST_TOKENS = 2_000;
/** The share of the free window that a reminder takes at most. */
const SHARE_OF_FREE = 0.2;

/** Sessions that stay indexed between calls, and their UTF-16 units together. The least recently used are dropped first. */
const MOST_SESSIONS = 1_000;
const MOST_HELD = 32_000_000;

/** The recall of one session. */
interface Session {
  readonly recall: SourceRecall;
  /** The log, as the current call opened it. */
  log: SessionLog;
  /** Changes with every reduction, because only a reduction takes messages out of the context. */
  version: string | undefined;
  /** The last reminder, with the id of the request that it was made for. */
  reminder: { readonly key: string; readonly message: Message | undefined } | undefined;
}

/** The part of a hook's or a tool's scope that recall needs. */
type RecallScope = Pick<CallScope, 'state' | 'log' | 'storage'>;

/**
 * Recalls from the logs of sessions, each from its own. An index outlives the call, so that a call costs only what was logged since. It is
 * used again only for the same log in the same storage, and if that still has messages of it: a session may be deleted and begin again.
 */
export class SessionRecall {
  readonly tool: Tool;
  readonly #redact: Redact | undefined;
  #sessions = new WeakMap<Workspace, Map<string, Session>>();

  /** @param redact Takes secrets out of what is found. */
  constructor(redact: Redact | undefined) {
    this.#redact = redact;
    this.tool = recallTool((request, context) =>
      this.#session(context).recall.answer(request, context.signal),
    );
  }

  /** Drops all indexes, for example because a user was erased. */
  forget(): void {
    this.#sessions = new WeakMap();
  }

  /** Returns whether a reminder may help: until a model has answered the newest request, where something was summarized. */
  mayRemind({ state: { context } }: RecallScope): boolean {
    return requestIn(context) !== undefined && context.some(({ kind }) => kind === 'summary');
  }

  /**
   * The reminder for the newest request of the user, until a model has answered it, so that a waiting call resumes without
   * one; none where nothing was summarized.
   *
   * @param free Tells the free window in tokens, and 0 where so many more would make a reduction due.
   */
  async remind(
    scope: RecallScope,
    meter: Meter,
    free: (more: number) => number,
  ): Promise<Message | undefined> {
    const { context } = scope.state;
    const request = requestIn(context);
    if (request === undefined || !this.mayRemind(scope)) return undefined;
    const session = this.#session(scope);
    const key = request.id;
    if (session.reminder?.key === key) return session.reminder.message;
    const tokens = Math.floor(Math.min(MOST_TOKENS, free(0) * SHARE_OF_FREE));
    if (tokens < FEWEST_TOKENS || free(tokens) === 0) return undefined;
    const message = await session.recall.remind(context, tokens, meter);
    session.reminder = { key, message };
    return message;
  }

  #session({ state: { context }, log, storage }: RecallScope): Session {
    const sessions = this.#sessions.get(storage) ?? new Map<string, Session>();
    this.#sessions.set(storage, sessions);
    const known = sessions.get(log.location);
    const reduced = context.filter((message) => !isWhole(message));
    const version = reduced.length > 0 ? `${reduced.length} ${reduced.at(-1)?.id}` : undefined;
    const session = known?.recall.hasRead(context) ? known : this.#begin(log);
    Object.assign(session, { log, version });
    sessions.delete(log.location);
    sessions.set(log.location, session);
    let held = 0;
    for (const { recall } of sessions.values()) held += recall.units;
    for (const [location, { recall }] of sessions) {
      if ((held <= MOST_HELD && sessions.size <= MOST_SESSIONS) || recall === session.recall) break;
      held -= recall.units;
      sessions.delete(location);
    }
    return session;
  }

  #begin(log: SessionLog): Session {
    const session: Session = {
      recall: new SourceRecall(() => session.log.read(), {
        redact: this.#redact,
        version: () => session.version,
      }),
      log,
      version: undefined,
      reminder: undefined,
    };
    return session;
  }
}

/** Finds the request that no model has answered. From the end: most steps stand behind an answer of the model. */
function requestIn(context: readonly Message[]): Message | undefined {
  const last = context.findLast((message) => message.role === 'assistant' || isUserRequest(message));
  return last?.role === 'user' ? last : undefined;
}
