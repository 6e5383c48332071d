import type { CallScope, Message, SessionLog, Tool, Workspace } from '@x/core';
import type { Redact } from '@x/core/internal';
import { isUserRequest } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import { recallTool, SourceRecall } from './create-recall.js';

/** Minimum and maximum tokens of a reminder. */
const FEWEST_TOKENS = 120;
const MOST_TOKENS = 2_000;
/** The maximum share of the free window for a reminder. */
const SHARE_OF_FREE = 0.2;

/** Maximum number of sessions that stay indexed between calls, and of their UTF-16 units. The least recently used are dropped first. */
const MOST_SESSIONS = 1_000;
const MOST_HELD = 32_000_000;

/** The recall of one session. */
interface Session {
  readonly recall: SourceRecall;
  /** The log, as the current call opened it. */
  log: SessionLog;
  /** The last reminder. */
  reminder: { readonly requestId: string; readonly message: Message | undefined } | undefined;
}

/** The part of a hook's or a tool's scope that recall needs. */
type RecallScope = Pick<CallScope, 'state' | 'log' | 'storage'>;

/**
 * Recalls from the logs of sessions, each from its own. An index is kept between calls, so that a call only indexes new messages. An index
 * is reused only for the same log in the same storage, and only if the log still has messages of the index, because a session may be
 * deleted and started again.
 */
export class SessionRecall {
  readonly tool: Tool;
  readonly #redact: Redact | undefined;
  #sessions = new WeakMap<Workspace, Map<string, Session>>();

  /** @param redact Redacts secrets in passages. */
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

  /**
   * Returns the reminder for the user's newest request if no model has answered it yet. A call that resumes after an approval gets none.
   * Returns `undefined` if the conversation has no summary.
   *
   * @param free Returns the free tokens of the window, or 0 if that many more tokens would make a reduction due.
   */
  async remind(
    scope: RecallScope,
    meter: Meter,
    free: (more: number) => number,
  ): Promise<Message | undefined> {
    const { context } = scope.state;
    const request = requestIn(context);
    if (request === undefined || !context.some(({ kind }) => kind === 'summary')) return undefined;
    const session = this.#session(scope);
    if (session.reminder?.requestId === request.id) return session.reminder.message;
    const tokens = Math.floor(Math.min(MOST_TOKENS, free(0) * SHARE_OF_FREE));
    if (tokens < FEWEST_TOKENS || free(tokens) === 0) return undefined;
    const message = await session.recall.remind(context, tokens, meter);
    session.reminder = { requestId: request.id, message };
    return message;
  }

  #session({ state: { context }, log, storage }: RecallScope): Session {
    const sessions = this.#sessions.get(storage) ?? new Map<string, Session>();
    this.#sessions.set(storage, sessions);
    const known = sessions.get(log.location);
    const session = known?.recall.hasRead(context) ? known : this.#begin(log);
    session.log = log;
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
      recall: new SourceRecall((from) => session.log.read(from), { redact: this.#redact }),
      log,
      reminder: undefined,
    };
    return session;
  }
}

/** Finds the request that no model has answered. Searches from the end, because an answer of the model is usually near it. */
function requestIn(context: readonly Message[]): Message | undefined {
  const last = context.findLast((message) => message.role === 'assistant' || isUserRequest(message));
  return last?.role === 'user' ? last : undefined;
}
