import { setTimeout } from 'node:timers/promises';
import {
  type AgentEvent,
  type ClientEvent,
  httpStatusOf,
  InvalidInputError,
  toClientError,
  toClientEvent,
} from '@x/core';
import { clientJson, type WordError, withoutOpenCalls } from '@x/core/internal';

/** One server-sent event. Without a name, an `EventSource` receives it as `message`. */
export interface SentEvent {
  /** Name of the event. */
  readonly event?: string;
  /** Id that a reader sends back as `Last-Event-ID` when it reconnects. */
  readonly id?: string | number;
  /** Sent as JSON. */
  readonly data: unknown;
}

interface ServerSentEventsOptions {
  /** Milliseconds between `ping` events. The first is sent at once. Default 15 000; 0 sends none. */
  readonly heartbeatMs?: number | undefined;
  /** Returns the error message for the user. Default: the error's `clientMessage`, or "An error occurred.". */
  readonly onError?: WordError | undefined;
}

/** Milliseconds to wait for an early failure of the stream, so that it can set the HTTP status. */
const STATUS_MS = 250;

/** A part of the HTTP response. */
interface Part {
  readonly text: string;
  /** HTTP status; set for a failure. */
  readonly status?: number;
  /** Milliseconds after which to retry, if the failure has them. */
  readonly retryAfterMs?: number | undefined;
  readonly isLast: boolean;
}

/**
 * Returns an HTTP response that streams an agent's events as server-sent events: `event` is the type, `id` its call and number, `data` the
 * event as JSON. An `EventSource` receives them by type. `ping` events keep an idle connection open. Each whole message is sent only once, in
 * `message.added`.
 *
 * If the stream fails, the last event is `error`, with `{ code, message }`. If it fails at once, the response contains only that event, and
 * has the HTTP status of the error. If the reader disconnects, the event stream is closed and the agent's call stops.
 *
 * @example
 * ```ts
 * import type { RuntimeContext } from '@x/core';
 * import { type HarnessAgent, serverSentEvents } from '@x/harness';
 *
 * export function answer(agent: HarnessAgent, text: string, context: RuntimeContext): Promise<Response> {
 *   return serverSentEvents(agent.stream(text, context));
 * }
 * ```
 * @param events An agent's events, or events to send unchanged.
 * @throws {InvalidInputError} if `events` is not a stream.
 */
export async function serverSentEvents(
  events: AsyncIterable<AgentEvent | SentEvent>,
  { heartbeatMs = 15_000, onError }: ServerSentEventsOptions = {},
): Promise<Response> {
  if (typeof events?.[Symbol.asyncIterator] !== 'function') {
    const message = 'must be a stream of events: agent.stream(…) or agent.follow(…)';
    throw new InvalidInputError('serverSentEvents events', [{ path: '', message }]);
  }
  const source = events[Symbol.asyncIterator]();
  const items = withoutOpenCalls({ [Symbol.asyncIterator]: () => source });
  const next = (): Promise<Part> =>
    items
      .next()
      .then(({ done, value }) => ({
        text: done ? '' : textOf(sentOf(value, onError)),
        isLast: done === true,
      }))
      .catch((error: unknown) => {
        const text = textOf({ event: 'error', data: toClientError(error, onError) });
        const { retryAfterMs } = Object(error) as Pick<Part, 'retryAfterMs'>;
        return { text, status: httpStatusOf(error), retryAfterMs, isLast: true };
      });
  const first = next();
  const early = await Promise.race([first, setTimeout(STATUS_MS, undefined, { ref: false })]);
  const { status, retryAfterMs } = { ...early };
  let part: Promise<Part> | undefined = first;
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // `setInterval` would treat an invalid or too large delay as 1 ms.
      if (status !== undefined || !(heartbeatMs > 0 && heartbeatMs < 2 ** 31)) return;
      const ping = (retry = '') => controller.enqueue(encoder.encode(`${retry}event: ping\ndata:\n\n`));
      ping('retry: 1000\n');
      timer = setInterval(ping, heartbeatMs);
      timer.unref();
    },
    async pull(controller) {
      const { text, isLast } = await (part ?? next());
      part = undefined;
      if (text !== '') controller.enqueue(encoder.encode(text));
      if (!isLast) return;
      clearInterval(timer);
      controller.close();
      // Close the source. If something else failed, the source may still wait for its reader.
      await source.return?.();
    },
    async cancel() {
      clearInterval(timer);
      await source.return?.();
    },
  });
  const headers = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    ...(retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }),
  };
  return new Response(body, { status: status ?? 200, headers });
}

function sentOf(item: AgentEvent | SentEvent, onError: WordError | undefined): SentEvent {
  if ('data' in item) return item;
  const { type, callId, seq } = item;
  return { event: type, id: `${callId}:${seq}`, data: onceWhole(toClientEvent(item, onError)) };
}

/** Removes the message from an event, because `message.added` sends the message whole. */
function onceWhole(event: ClientEvent): object {
  if (event.type === 'model.completed') {
    const { message, ...rest } = event;
    return { ...rest, messageId: message.id };
  }
  if (event.type !== 'tool.result') return event;
  const { output: _, ...result } = event.result;
  return { ...event, result };
}

function textOf({ event, id, data }: SentEvent): string {
  return `${field('id', id)}${field('event', event)}data: ${clientJson(data)}\n\n`;
}

/** Formats one field. Removes line breaks, which would begin another field, and NULs, which make readers ignore an id. */
function field(name: string, value: string | number | undefined): string {
  return value === undefined ? '' : `${name}: ${String(value).replaceAll(/[\r\n\0]+/g, ' ')}\n`;
}
