import type { AgentState, Message, SessionLog, Tool } from '@x/core';
import type { Redact } from '@x/core/internal';
import { isUserRequest } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import { isWhole, recallTool, SourceRecall } from './create-recall.js';

/** A reminder is worth at least so many tokens, and takes at most so many. */
const FEWEST_TOKENS = 120;
const MOST_TOKENS = 2_000;
/** The share of the free window that a reminder takes at most. */
const SHARE_OF_FREE = 0.2;

/** The recall of one session. */
interface Session {
  readonly recall: SourceRecall;
  /** The last reminder, with the id of the request that it was made for. */
  reminder: { readonly key: string; readonly message: Message | undefined } | undefined;
}

/** The part of a hook's or a tool's scope that recall needs. */
interface RecallScope {
  readonly state: AgentState;
  readonly log: SessionLog;
}

/**
 * Recalls from the logs of sessions, each from its own. What is known of a session goes with its state: nothing outlives
 * it, and no session reads what another one has said.
 */
export class SessionRecall {
  readonly tool: Tool;
  readonly #redact: Redact | undefined;
  readonly #sessions = new WeakMap<AgentState, Session>();

  /** @param redact Takes secrets out of what is found. */
  constructor(redact: Redact | undefined) {
    this.#redact = redact;
    this.tool = recallTool((request, context) =>
      this.#session(context).recall.answer(request, context.signal),
    );
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

  #session({ state, log }: RecallScope): Session {
    const known = this.#sessions.get(state);
    if (known) return known;
    // Only a reduction takes messages out of the context.
    const version = () => {
      const reduced = state.context.filter((message) => !isWhole(message));
      return reduced.length > 0 ? `${reduced.length} ${reduced.at(-1)?.id}` : undefined;
    };
    const recall = new SourceRecall(() => log.read(), { redact: this.#redact, version });
    const session: Session = { recall, reminder: undefined };
    this.#sessions.set(state, session);
    return session;
  }
}

/** Finds the request that no model has answered. From the end: most steps stand behind an answer of the model. */
function requestIn(context: readonly Message[]): Message | undefined {
  const last = context.findLast((message) => message.role === 'assistant' || isUserRequest(message));
  return last?.role === 'user' ? last : undefined;
}
