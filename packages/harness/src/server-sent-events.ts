import { setTimeout } from 'node:timers/promises';
import {
  type AgentEvent,
  type ClientEvent,
  httpStatusOf,
  InvalidInputError,
  toClientError,
  toClientEvent,
} from '@x/core';
import { type WordError, withoutOpenCalls } from '@x/core/internal';

/** One event as it is sent. Without a name, an `EventSource` receives it as `message`. */
export interface SentEvent {
  readonly event?: string;
  readonly id?: string | number;
  /** Sent as JSON. */
  readonly data: unknown;
}

interface ServerSentEventsOptions {
  /** Milliseconds between events `ping`, the first at once. Default 15 000; 0 sends none. */
  readonly heartbeatMs?: number | undefined;
  /** Words an error for the user. Default: the error's `clientMessage`, or "An error occurred.". */
  readonly onError?: WordError | undefined;
}

/** Milliseconds in which the stream may fail before the status is sent. */
const STATUS_MS = 250;

/** A part of the answer. */
interface Part {
  readonly text: string;
  /** Of a failure. */
  readonly status?: number;
  /** Milliseconds, where the failure names them. */
  readonly retryAfterMs?: number | undefined;
  readonly isLast: boolean;
}

/**
 * Makes an HTTP answer of an agent's events, as server-sent events: `event` is the type of each, `id` its `seq`, `data` the event as JSON. An
 * `EventSource` hears them by their types. An event `ping` keeps a quiet connection open, and shows that it is. Each message is sent
 * whole once, in `message.added`.
 *
 * If the stream fails, the last event is `error`, with `{ code, message }`. If it fails at once, that event is the whole answer, and the
 * answer has the status of the error. When the reader goes away, the stream of events is closed, and the agent's call with it.
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
 * @param events An agent's events, or what is to be sent as it is.
 * @throws {InvalidInputError} for `events` that is not a stream.
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
      // A timer takes what is no number, or too large a one, for a millisecond.
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
      // What has failed otherwise would wait for its reader.
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
  const { type, seq } = item;
  return { event: type, id: seq, data: onceWhole(toClientEvent(item, onError)) };
}

/** Leaves out of an event the message that `message.added` sends whole. */
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
  return `${field('id', id)}${field('event', event)}data: ${jsonOf(data)}\n\n`;
}

/** A line break would begin another field, and a NUL makes readers ignore an id. */
function field(name: string, value: string | number | undefined): string {
  return value === undefined ? '' : `${name}: ${String(value).replaceAll(/[\r\n\0]+/g, ' ')}\n`;
}

/** What a capability tells may hold what no JSON can. */
function jsonOf(data: unknown): string {
  try {
    return JSON.stringify(data) ?? 'null';
  } catch {
    return JSON.stringify({ code: 'internal', message: 'This event cannot be sent.' });
  }
}
