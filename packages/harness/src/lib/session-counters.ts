import { type AgentState, type CallScope, SessionKey } from '@x/core';
import { isObject, RecentMap } from '@x/core/internal';

/** Numbers by name. */
export type Counters = Readonly<Record<string, number>>;

/** Maximum number of sessions with late numbers. Beyond it, the oldest are dropped. */
const MAX_SESSIONS = 1_000;

/**
 * Numbers that a state extension sums up for a session, over all its calls. Background work may add to a call that has ended, whose state is
 * stored: these numbers are added when the session is called next.
 */
export class SessionCounters {
  readonly #extension: string;
  /** Numbers that each call has added, by the call's state object. */
  readonly #calls = new WeakMap<AgentState, { sum: Counters; isOver: boolean }>();
  readonly #late = new RecentMap<string, Counters>(MAX_SESSIONS);

  constructor(extension: string) {
    this.#extension = extension;
  }

  begin(scope: Pick<CallScope, 'agentId' | 'state'>): void {
    this.#calls.set(scope.state, { sum: {}, isOver: false });
    const session = sessionOf(scope);
    this.#store(scope.state, this.#late.get(session) ?? {});
    this.#late.delete(session);
  }

  end(state: AgentState): void {
    const call = this.#calls.get(state);
    if (call !== undefined) call.isOver = true;
  }

  add(scope: Pick<CallScope, 'agentId' | 'state'>, more: Counters): void {
    const call = this.#calls.get(scope.state);
    if (call?.isOver) {
      const session = sessionOf(scope);
      this.#late.set(session, plus(this.#late.get(session), more));
      return;
    }
    this.#store(scope.state, more);
    if (call !== undefined) call.sum = plus(call.sum, more);
  }

  /** Returns the numbers that a call has added so far. */
  ofCall(state: AgentState): Counters {
    return this.#calls.get(state)?.sum ?? {};
  }

  /** Adds numbers to the extension. A merge of two writers' states adds up the numbers under the key `counters`. */
  #store({ extensions }: AgentState, more: Counters): void {
    if (Object.values(more).every((number) => number === 0)) return;
    const stored = extensions[this.#extension];
    extensions[this.#extension] = { ...stored, counters: plus(numbersIn(stored?.counters), more) };
  }
}

/** Returns the numbers of stored counters. Other values are ignored, because adding to a string would concatenate. */
function numbersIn(stored: unknown): Counters {
  const counters = Object.entries(isObject(stored) ? stored : {});
  return Object.fromEntries(
    counters.filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}

function plus(left: Counters = {}, right: Counters): Counters {
  const names = Object.keys({ ...left, ...right });
  return Object.fromEntries(names.map((name) => [name, (left[name] ?? 0) + (right[name] ?? 0)]));
}

function sessionOf({
  agentId,
  state: { tenantId, userId, sessionId },
}: Pick<CallScope, 'agentId' | 'state'>) {
  return SessionKey.of({ tenantId, userId, agentId, sessionId }).toString();
}
