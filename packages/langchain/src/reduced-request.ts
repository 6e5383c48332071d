import { type BaseMessage, RemoveMessage } from '@langchain/core/messages';

/**
 * Compares the messages of a request with those of the agent's state. Other middleware may have added or changed messages of the request.
 * Those changes apply to this request only and never become state.
 */
export class RequestMessages {
  readonly #state: ReadonlyMap<string, BaseMessage>;
  readonly #request: readonly BaseMessage[];

  constructor(request: readonly BaseMessage[], state: readonly BaseMessage[]) {
    this.#request = request;
    this.#state = new Map(
      state.flatMap((message) => (message.id === undefined ? [] : [[message.id, message]])),
    );
  }

  /** The messages of the conversation, as they are in the request. */
  get conversation(): readonly BaseMessage[] {
    return this.#request.filter((message) => this.#isOfState(message));
  }

  /** Returns the request with the reduced conversation. Messages that other middleware added stay after the same neighbor. */
  withReduced(reduced: readonly BaseMessage[]): BaseMessage[] {
    const surviving = new Set(reduced.map(({ id }) => id));
    const added = new Map<string | undefined, BaseMessage[]>();
    let neighbor: string | undefined;
    let hasLost = false;
    for (const message of this.#request) {
      if (!this.#isOfState(message)) added.set(neighbor, [...(added.get(neighbor) ?? []), message]);
      else if (surviving.has(message.id)) neighbor = message.id;
      else hasLost = true;
    }
    const first = added.get(undefined) ?? [];
    // Added messages before or among removed messages go after the message that replaces the removed ones.
    const lead = hasLost ? reduced.findIndex(({ id }) => id !== undefined && this.#state.has(id)) : 0;
    const at = lead === -1 ? reduced.length : lead;
    const rest = reduced.slice(at).flatMap((message) => [message, ...(added.get(message.id) ?? [])]);
    return [...reduced.slice(0, at), ...first, ...rest];
  }

  /**
   * Returns the state update for the reduction: removals, and messages that replace removed ones. Returns `undefined` if a state update
   * cannot express the reduction.
   */
  stateUpdate(reduced: readonly BaseMessage[]): BaseMessage[] | undefined {
    const surviving = new Set(reduced.map(({ id }) => id));
    const conversation = this.conversation;
    const update: BaseMessage[] = [];
    const ids = conversation.map(({ id }) => id as string);
    let from = 0;
    let made: BaseMessage[] = [];
    const settle = (end: number): boolean => {
      const gone = ids.slice(from, end).filter((id) => !surviving.has(id));
      if (made.length > gone.length) return false;
      // A message with the id of a removed message replaces it in the state.
      for (const [index, id] of gone.entries()) {
        const message = made[index];
        if (message === undefined) update.push(new RemoveMessage({ id }));
        else update.push(named(message, id));
      }
      made = [];
      return true;
    };
    for (const message of reduced) {
      const at = ids.indexOf(message.id as string, from);
      if (at === -1) {
        made.push(message);
        continue;
      }
      if (!settle(at)) return undefined;
      from = at + 1;
      const source = conversation[at];
      const isOurs = message !== source && source === this.#state.get(ids[at] as string);
      if (isOurs) update.push(message);
    }
    return settle(ids.length) ? update : undefined;
  }

  #isOfState({ id }: BaseMessage): boolean {
    return id !== undefined && this.#state.has(id);
  }
}

/** Gives the message another id, and returns the same object. */
export function named(message: BaseMessage, id: string): BaseMessage {
  return Object.assign(message, { id, lc_kwargs: { ...message.lc_kwargs, id } });
}
