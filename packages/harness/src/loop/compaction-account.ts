import type { AgentEventBody, AgentState, CallScope, Capability, CompactionCost, Usage } from '@x/core';
import {
  addCompactionCost,
  type CompactionCounters,
  compactionCounters,
  costOf,
  sumOfCounters,
} from '@x/core/internal';

/** Sessions for which is remembered what was reported after their calls. */
const MAX_SESSIONS = 1_000;

/** What was reported of sessions when their calls had ended: it is added when they are called next. */
export class LateCosts {
  readonly #late = new Map<string, CompactionCounters>();

  add(session: string, more: Partial<CompactionCounters>): void {
    this.#late.set(session, sumOfCounters(this.#late.get(session) ?? compactionCounters({}), more));
    const oldest = this.#late.keys().next().value;
    if (this.#late.size > MAX_SESSIONS && oldest !== undefined) this.#late.delete(oldest);
  }

  settle(session: string, state: AgentState): void {
    const late = this.#late.get(session);
    if (late !== undefined) addCompactionCost(state, late);
    this.#late.delete(session);
  }
}

/** Keeps account of what compactions cost and save, in one call and in the state of its session. */
export class CompactionAccount {
  readonly #capabilities: readonly Capability[];
  readonly #late: LateCosts;
  readonly #session: string;
  #ofCall = compactionCounters({});
  #isOver = false;
  #modelId = '';

  constructor(capabilities: readonly Capability[], late: LateCosts, session: string) {
    this.#capabilities = capabilities;
    this.#late = late;
    this.#session = session;
  }

  /** Counts what an event tells. Answers it with the price of what it was told of. */
  observe(event: AgentEventBody, { state }: CallScope): AgentEventBody {
    switch (event.type) {
      case 'usage.reported': {
        if (event.source !== 'compaction' || event.taskId !== undefined) return event;
        this.#modelId = event.modelId;
        const cost = this.#priceOf(event.usage);
        const { inputTokens, outputTokens } = event.usage;
        const unpriced = cost === undefined ? 1 : 0;
        this.#add(state, { modelCalls: 1, inputTokens, outputTokens, cost: cost ?? 0, unpriced });
        return event;
      }
      case 'context.compacted':
        if (event.status === 'applied')
          this.#add(state, { removedTokens: event.tokensBefore - event.tokensAfter });
        return event.usage ? { ...event, cost: this.#priceOf(event.usage) } : event;
      case 'context.narrated':
        this.#add(state, { removedTokens: -event.tokens });
        return event.usage ? { ...event, cost: this.#priceOf(event.usage) } : event;
      case 'context.restored':
        this.#add(state, { removedTokens: (event.tokensBefore ?? 0) - (event.tokensAfter ?? 0) });
        return event;
      case 'model.started':
        this.#add(state, { savedTokens: compactionCounters(state.extensions).removedTokens });
        return event;
      default:
        return event;
    }
  }

  /** The call is over: its state is stored, and the next call has another one. */
  end(): void {
    this.#isOver = true;
  }

  /** What compactions cost and saved in this call; `undefined` where they did neither. */
  get cost(): CompactionCost | undefined {
    const { modelCalls, savedTokens } = this.#ofCall;
    return modelCalls > 0 || savedTokens > 0 ? costOf(this.#ofCall) : undefined;
  }

  #priceOf(usage: Usage): number | undefined {
    for (const capability of this.#capabilities) {
      const cost = capability.priceOf?.(this.#modelId, usage);
      if (cost !== undefined) return cost;
    }
    return undefined;
  }

  #add(state: AgentState, more: Partial<CompactionCounters>): void {
    if (Object.values(more).every((number) => number === 0)) return;
    if (this.#isOver) {
      this.#late.add(this.#session, more);
      return;
    }
    this.#ofCall = sumOfCounters(this.#ofCall, more);
    addCompactionCost(state, more);
  }
}
