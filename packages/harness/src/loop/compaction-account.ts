import type { AgentEventBody, AgentState, CallScope, Capability, CompactionCost, Usage } from '@x/core';
import {
  addCompactionCost,
  type CompactionCounters,
  compactionCounters,
  costOf,
  RecentMap,
  sumOfCounters,
} from '@x/core/internal';

/** Maximum number of sessions with unclaimed late costs. Beyond it, the oldest are dropped. */
const MAX_SESSIONS = 1_000;

/** Costs that were reported after a session's call had ended. They are added at its next call. */
export class LateCosts {
  readonly #late = new RecentMap<string, CompactionCounters>(MAX_SESSIONS);

  add(session: string, more: Partial<CompactionCounters>): void {
    this.#late.set(session, sumOfCounters(this.#late.get(session) ?? compactionCounters({}), more));
  }

  settle(session: string, state: AgentState): void {
    const late = this.#late.get(session);
    if (late !== undefined) addCompactionCost(state, late);
    this.#late.delete(session);
  }
}

/** Tracks what compactions cost and save, in one call and in the state of its session. */
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

  /** Counts an event. Returns the event, with its price if it reports usage of a compaction. */
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

  /** Marks the call as ended: its state is stored, and the next call has another state. */
  end(): void {
    this.#isOver = true;
  }

  /** What compactions cost and saved in this call; `undefined` if there were none. */
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
