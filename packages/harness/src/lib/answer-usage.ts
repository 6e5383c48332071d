import { type AgentEventBody, type AgentState, estimateCounter, type Usage } from '@x/core';
import { countMessage } from '@x/core/messages';

/** Finds the tokens of each answer of a model. If the provider reports none, they are estimated. */
export class AnswerUsage {
  /** Tokens of the current request, by the state of its call. */
  readonly #requested = new WeakMap<AgentState, number>();

  /** Must be called with each event of a call. Returns the usage of an answer once the answer is complete. */
  of(event: AgentEventBody, state: AgentState): Usage | undefined {
    if (event.type === 'model.started') this.#requested.set(state, event.context.total);
    if (event.type !== 'model.completed') return undefined;
    const inputTokens = this.#requested.get(state) ?? 0;
    return event.usage ?? { inputTokens, outputTokens: countMessage(estimateCounter, event.message) };
  }
}
