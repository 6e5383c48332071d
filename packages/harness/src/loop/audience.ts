import type { AgentEvent, AgentEventBody, CallScope, Capability } from '@x/core';
import { notify } from '@x/core/internal';
import type { AgentParts } from '../agent/agent-parts.js';
import type { Reply } from '../agent/call-options.js';
import type { EventJournal } from '../lib/event-journal.js';

/** The receivers of a call's events: observers in capabilities, listeners of the agent, and readers of the stream. */
export class Audience {
  readonly #observers: readonly Capability[];
  readonly #listeners: AgentParts['listeners'];
  readonly #events: EventJournal<Reply>;
  readonly #emit: (event: AgentEventBody) => void;
  /** Receivers that have failed in this call. */
  readonly #failing = new Set<object>();

  /** @param emit Emits another event, such as a warning. */
  constructor(
    { capabilities, listeners }: AgentParts,
    events: EventJournal<Reply>,
    emit: (event: AgentEventBody) => void,
  ) {
    this.#observers = capabilities.filter((capability) => capability.observe !== undefined);
    this.#listeners = listeners;
    this.#events = events;
    this.#emit = emit;
  }

  hear(event: AgentEvent, scope: CallScope): void {
    this.#events.push(event);
    const isUnheard = !this.#events.hasReaders && this.#listeners.every((each) => this.#failing.has(each));
    if (event.type === 'warning' && isUnheard) {
      process.emitWarning(`${event.source}: ${event.message}`, { code: 'agent_warning' });
    }
    for (const listener of this.#listeners) this.#notify('onEvent', listener, listener, event);
    for (const one of this.#observers) {
      this.#notify(one.name, one, (event: AgentEventBody) => one.observe?.(event, scope), event);
    }
  }

  /** Calls one receiver. Its first failure in a call is emitted as a warning, which it receives too. */
  #notify<Event>(source: string, who: object, listener: (event: Event) => unknown, event: Event): void {
    notify(`The listener "${source}"`, listener, event, (message) => {
      if (this.#failing.has(who)) return;
      this.#failing.add(who);
      this.#emit({ type: 'warning', source, message });
    });
  }
}
