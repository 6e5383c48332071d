import type { CallScope } from '@x/core';
import { NOTHING, plus, type Spending, spend } from './spending.js';

/** Ended calls and sessions that are remembered for what is reported late. */
const MAX_REMEMBERED = 1_000;

/**
 * Keeps account of running calls, and of their sessions in their state. What is reported when a call has ended, by work
 * in the background, is added to its session when that is called next.
 */
export class SessionSpending {
  readonly #running = new Map<string, Spending>();
  readonly #ended = new Set<string>();
  readonly #late = new Map<string, Spending>();

  begin(scope: CallScope): void {
    this.#running.set(scope.callId, NOTHING);
    const session = sessionOf(scope);
    const late = this.#late.get(session);
    if (late === undefined) return;
    this.#late.delete(session);
    spend(scope.state, late);
  }

  end({ callId }: CallScope): void {
    this.#running.delete(callId);
    this.#ended.add(callId);
    forgetOldest(this.#ended);
  }

  add(scope: CallScope, spent: Spending): void {
    const { callId } = scope;
    if (this.#ended.has(callId)) {
      const session = sessionOf(scope);
      this.#late.set(session, plus(this.#late.get(session) ?? NOTHING, spent));
      forgetOldest(this.#late);
      return;
    }
    spend(scope.state, spent);
    const running = this.#running.get(callId);
    if (running !== undefined) this.#running.set(callId, plus(running, spent));
  }

  /** What the call has used up so far. */
  ofCall({ callId }: CallScope): Spending {
    return this.#running.get(callId) ?? NOTHING;
  }
}

function sessionOf({ agentId, state }: CallScope): string {
  return JSON.stringify([agentId, state.tenantId, state.userId, state.sessionId]);
}

function forgetOldest(remembered: Map<string, unknown> | Set<string>): void {
  if (remembered.size <= MAX_REMEMBERED) return;
  for (const oldest of remembered.keys()) {
    remembered.delete(oldest);
    return;
  }
}
