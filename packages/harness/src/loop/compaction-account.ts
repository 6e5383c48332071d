import type { AgentEventBody, CallScope, Capability, CompactionCost, Usage } from '@x/core';
import { compactionCounters, costOf } from '@x/core/internal';
import type { Counters, SessionCounters } from '../lib/session-counters.js';

/** Tracks the cost and savings of compactions, in one call and in the state of its session. */
export class CompactionAccount {
  readonly #capabilities: readonly Capability[];
  readonly #counters: SessionCounters;
  readonly #call: Pick<CallScope, 'agentId' | 'state'>;
  #modelId = '';

  constructor(
    capabilities: readonly Capability[],
    counters: SessionCounters,
    call: Pick<CallScope, 'agentId' | 'state'>,
  ) {
    this.#capabilities = capabilities;
    this.#counters = counters;
    this.#call = call;
    counters.begin(call);
  }

  /** Counts an event. Returns the event, with its price if it reports usage of a compaction. */
  observe(event: AgentEventBody): AgentEventBody {
    const add = (more: Counters) => this.#counters.add(this.#call, more);
    switch (event.type) {
      case 'usage.reported': {
        if (event.source !== 'compaction' || event.taskId !== undefined) return event;
        this.#modelId = event.modelId;
        const cost = this.#priceOf(event.usage);
        const { inputTokens, outputTokens } = event.usage;
        const unpriced = cost === undefined ? 1 : 0;
        add({ modelCalls: 1, inputTokens, outputTokens, cost: cost ?? 0, unpriced });
        return event;
      }
      case 'context.compacted':
        if (event.status === 'applied') add({ removedTokens: event.tokensBefore - event.tokensAfter });
        return event.usage ? { ...event, cost: this.#priceOf(event.usage) } : event;
      case 'context.narrated':
        add({ removedTokens: -event.tokens });
        return event.usage ? { ...event, cost: this.#priceOf(event.usage) } : event;
      case 'context.restored':
        add({ removedTokens: (event.tokensBefore ?? 0) - (event.tokensAfter ?? 0) });
        return event;
      case 'model.started':
        add({ savedTokens: compactionCounters(this.#call.state.extensions).removedTokens });
        return event;
      default:
        return event;
    }
  }

  /** Marks the call as ended: its state is stored, and the next call has another state. */
  end(): void {
    this.#counters.end(this.#call.state);
  }

  /** Cost and savings of compactions in this call; `undefined` if there were none. */
  get cost(): CompactionCost | undefined {
    const cost = costOf(this.#counters.ofCall(this.#call.state));
    return cost.modelCalls > 0 || cost.savedTokens > 0 ? cost : undefined;
  }

  #priceOf(usage: Usage): number | undefined {
    for (const capability of this.#capabilities) {
      const cost = capability.priceOf?.(this.#modelId, usage);
      if (cost !== undefined) return cost;
    }
    return undefined;
  }
}
