import type { AgentEvent, AgentEventBody } from '@x/core';

type Place = Pick<AgentEvent, 'seq' | 'sessionId' | 'agentId' | 'callId' | 'step'>;

/** An event and its place in its call. They are joined when the first receiver reads them, because many events have no receiver. */
export class EmittedEvent {
  readonly #body: AgentEventBody;
  readonly #place: Place;
  readonly #at = Date.now();
  #whole: AgentEvent | undefined;

  constructor(body: AgentEventBody, place: Place) {
    this.#body = body;
    this.#place = place;
  }

  get seq(): number {
    return this.#place.seq;
  }

  get whole(): AgentEvent {
    this.#whole ??= { ...this.#body, ...this.#place, at: new Date(this.#at).toISOString() };
    return this.#whole;
  }
}
