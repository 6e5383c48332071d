import { type ClientError, toClientError, type WordError } from '../errors/client-error.js';
import { XError } from '../errors/x-error.js';
import type { AgentEvent } from './agent-event.js';

/** An event for a client: its errors are converted by {@link toClientError}. */
export type ClientEvent = ForClient<AgentEvent>;

/** An event whose errors are converted for clients. */
export type ForClient<Event> = Event extends { readonly error: unknown }
  ? Omit<Event, 'error'> & { readonly error: ClientError }
  : Event;

/** The code and message that clients get for events that contain only the text of an error, by event type. */
const WORDS: { readonly [type: string]: readonly [code: string, clientMessage: string] } = {
  'model.retrying': ['model_error', 'The model is not available at the moment. The call is being retried.'],
  'model.fallback': ['model_error', 'The model is not available at the moment. Another model takes over.'],
  'output.rejected': ['output_invalid', 'The answer does not have the requested form.'],
  'memory.failed': ['memory_failed', 'The memory could not be updated.'],
};

/**
 * Converts an event for a client. Errors become those of {@link toClientError}. Warnings and the details of compactions are meant for the
 * operator and may quote errors, so their texts are removed.
 *
 * @example
 * ```ts
 * for await (const event of agent.stream('Hi')) socket.send(JSON.stringify(toClientEvent(event)));
 * ```
 * @param onError Returns the client's text for an error. A warning is passed as an error with the code `warning`.
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

/** Serializes an item of a stream for a client. Errors are converted by {@link toClientError}, and bigints become text. */
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

/** Restores an event's errors from a client event, so that another {@link toClientEvent} gives the same texts. */
export function fromClientEvent(event: ClientEvent): AgentEvent {
  if (event.type === 'subagent.event')
    return { ...event, event: fromClientEvent(event.event as ClientEvent) };
  if (!('error' in event)) return event;
  return { ...event, error: errorFrom(event.error) } as AgentEvent;
}

/** Creates an error from a client error. */
export function errorFrom({ code, message }: ClientError): XError {
  return new XError(code, message, { clientMessage: message });
}
