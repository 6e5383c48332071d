import { type ClientError, toClientError, type WordError } from '../errors/client-error.js';
import { XError } from '../errors/x-error.js';
import type { AgentEvent } from './agent-event.js';

/** An event as a client may read it: with errors in the words of {@link toClientError}. */
export type ClientEvent = ForClient<AgentEvent>;

/** An event with its errors as a client may read them. */
export type ForClient<Event> = Event extends { readonly error: unknown }
  ? Omit<Event, 'error'> & { readonly error: ClientError }
  : Event;

/** What clients read of errors of which an event has the text alone, by the type of the event: code and message. */
const WORDS: { readonly [type: string]: readonly [code: string, clientMessage: string] } = {
  'model.retrying': ['model_error', 'The model is not available at the moment. The call is made again.'],
  'model.fallback': ['model_error', 'The model is not available at the moment. Another one goes on.'],
  'output.rejected': ['output_invalid', 'The answer does not have the form that was asked for.'],
  'memory.failed': ['memory_failed', 'The memory could not be updated. It is tried again later.'],
};

/**
 * Turns an event into what a client may read. Errors get the words of {@link toClientError}. Warnings and the details of
 * compactions are for those who run the server: their texts may quote errors, and are left out.
 *
 * @example
 * ```ts
 * for await (const event of agent.stream('Hi')) socket.send(JSON.stringify(toClientEvent(event)));
 * ```
 * @param onError Words an error. A warning comes as an error with the code `warning`.
 */
export function toClientEvent(event: AgentEvent, onError?: WordError): ClientEvent {
  switch (event.type) {
    case 'warning': {
      const clientMessage = 'The server logged a warning.';
      const warning = new XError('warning', event.message, { clientMessage });
      return { ...event, message: toClientError(warning, onError).message };
    }
    case 'context.compacted':
      return { ...event, message: '', steps: event.steps.map(({ note: _, ...step }) => step) };
    case 'subagent.event':
      return { ...event, event: toClientEvent(event.event, onError) as AgentEvent };
    default: {
      if (!('error' in event)) return event;
      const { error: thrown, type } = event;
      const [code, clientMessage] = WORDS[type] ?? ['internal'];
      const error = typeof thrown === 'string' ? new XError(code, thrown, { clientMessage }) : thrown;
      return { ...event, error: toClientError(error, onError) };
    }
  }
}

/** Serializes an item of a stream for a client. Errors get the words of {@link toClientError}, and bigints become text. */
export function clientJson(item: unknown, onError?: WordError): string {
  const forClient = (_: string, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    return value instanceof Error ? toClientError(value, onError) : value;
  };
  try {
    return JSON.stringify(item, forClient) ?? 'null';
  } catch {
    return JSON.stringify({ code: 'internal', message: 'This event cannot be sent.' });
  }
}

/** Tests whether an item of a stream is an agent's event. */
export function isAgentEvent(item: unknown): item is AgentEvent {
  return (
    typeof item === 'object' && item !== null && 'type' in item && 'callId' in item && 'sessionId' in item
  );
}

/** Makes errors again of those that an event had, so that another {@link toClientEvent} gives the same words. */
export function fromClientEvent(event: ClientEvent): AgentEvent {
  if (event.type === 'subagent.event')
    return { ...event, event: fromClientEvent(event.event as ClientEvent) };
  if (!('error' in event)) return event;
  return { ...event, error: errorFrom(event.error) } as AgentEvent;
}

/** Makes an error of what clients read of one. */
export function errorFrom({ code, message }: ClientError): XError {
  return new XError(code, message, { clientMessage: message });
}
