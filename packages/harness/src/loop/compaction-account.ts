import type { AgentEventBody, AgentState, CallScope, Capability, CompactionCost, Usage } from '@x/core';
import { compactionCounters, costOf, sumOfCounters } from '@x/core/internal';
import type { SessionCounters } from '../lib/session-counters.js';

/** Tracks what compactions cost and save, in one call and in the state of its session. */
export class CompactionAccount {
  readonly #capabilities: readonly Capability[];
  readonly #counters: SessionCounters;
  #modelId = '';

  constructor(capabilities: readonly Capability[], counters: SessionCounters) {
    this.#capabilities = capabilities;
    this.#counters = counters;
  }

  /** Counts an event. Returns the event, with its price if it reports usage of a compaction. */
  observe(event: AgentEventBody, scope: CallScope): AgentEventBody {
    switch (event.type) {
      case 'usage.reported': {
        if (event.source !== 'compaction' || event.taskId !== undefined) return event;
        this.#modelId = event.modelId;
        const cost = this.#priceOf(event.usage);
        const { inputTokens, outputTokens } = event.usage;
        const unpriced = cost === undefined ? 1 : 0;
        this.#counters.add(scope, { modelCalls: 1, inputTokens, outputTokens, cost: cost ?? 0, unpriced });
        return event;
      }
      case 'context.compacted':
        if (event.status === 'applied')
          this.#counters.add(scope, { removedTokens: event.tokensBefore - event.tokensAfter });
        return event.usage ? { ...event, cost: this.#priceOf(event.usage) } : event;
      case 'context.narrated':
        this.#counters.add(scope, { removedTokens: -event.tokens });
        return event.usage ? { ...event, cost: this.#priceOf(event.usage) } : event;
      case 'context.restored':
        this.#counters.add(scope, { removedTokens: (event.tokensBefore ?? 0) - (event.tokensAfter ?? 0) });
        return event;
      case 'model.started':
        this.#counters.add(scope, { savedTokens: compactionCounters(scope.state.extensions).removedTokens });
        return event;
      default:
        return event;
    }
  }

  /** Marks the call as ended: its state is stored, and the next call has another state. */
  end(state: AgentState): void {
    this.#counters.end(state);
  }

  /** What compactions cost and saved in this call; `undefined` if there were none. */
  costOf(state: AgentState): CompactionCost | undefined {
    const sum = sumOfCounters(compactionCounters({}), this.#counters.ofCall(state));
    return sum.modelCalls > 0 || sum.savedTokens > 0 ? costOf(sum) : undefined;
  }

  #priceOf(usage: Usage): number | undefined {
    for (const capability of this.#capabilities) {
      const cost = capability.priceOf?.(this.#modelId, usage);
      if (cost !== undefined) return cost;
    }
    return undefined;
  }
}
