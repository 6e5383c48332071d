import { type AgentEvent, InvalidInputError } from '@x/core';
import { errorText } from '@x/core/internal';

/** One event as it is sent; without a name an `EventSource` hears it as `message`. */
export interface SentEvent {
  readonly event?: string;
  readonly id?: string | number;
  /** Sent as JSON. */
  readonly data: unknown;
}

/**
 * Makes an HTTP answer of an agent's events, as server-sent events: `event` is the type of each, `id` its `seq`, `data` the event as JSON. An
 * `EventSource` hears them by their types. An event `ping` keeps a quiet connection open, and tells that it is. A failure of the
 * stream is an event `error`. When the reader goes away the stream of events is closed, and with it whatever the agent does then.
 *
 * @example
 * ```ts
 * import type { RuntimeContext } from '@x/core';
 * import { type HarnessAgent, serverSentEvents } from '@x/harness';
 *
 * export function answer(agent: HarnessAgent, text: string, context: RuntimeContext): Response {
 *   return serverSentEvents(agent.stream(text, context));
 * }
 * ```
 * @param events An agent's events, or what is to be sent as it is.
 * @param options `heartbeatMs`: milliseconds between events `ping`, the first at once; 15 000 by default, 0 sends none.
 * @throws {InvalidInputError} for what is no stream.
 */
export function serverSentEvents(
  events: AsyncIterable<AgentEvent | SentEvent>,
  { heartbeatMs = 15_000 }: { readonly heartbeatMs?: number } = {},
): Response {
  if (typeof events?.[Symbol.asyncIterator] !== 'function') {
    const message = 'must be a stream of events: agent.stream(…) or agent.follow(…)';
    throw new InvalidInputError('serverSentEvents events', [{ path: '', message }]);
  }
  const iterator = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // A timer takes what is no number, or too large a one, for a millisecond.
      if (!(heartbeatMs > 0 && heartbeatMs < 2 ** 31)) return;
      const ping = (retry = '') => controller.enqueue(encoder.encode(`${retry}event: ping\ndata:\n\n`));
      ping('retry: 1000\n');
      timer = setInterval(ping, heartbeatMs);
      timer.unref();
    },
    async pull(controller) {
      const send = ({ event, id, data }: SentEvent) => {
        const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
        controller.enqueue(encoder.encode(`${head}data: ${jsonOf(data)}\n\n`));
      };
      try {
        const { done, value } = await iterator.next();
        if (!done) return send('data' in value ? value : sentOf(value));
      } catch (error) {
        send({ event: 'error', data: { message: errorText(error) } });
      }
      clearInterval(timer);
      controller.close();
      // What has failed otherwise would wait for its reader.
      await iterator.return?.();
    },
    async cancel() {
      clearInterval(timer);
      await iterator.return?.();
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
  });
}

/** What a capability tells may hold what no JSON can. */
function jsonOf(data: unknown): string {
  try {
    return JSON.stringify(data);
  } catch (error) {
    return JSON.stringify({ message: `This event cannot be sent: ${errorText(error)}` });
  }
}

function sentOf(event: AgentEvent): SentEvent {
  const data = event.type === 'call.failed' ? { ...event, error: errorText(event.error) } : event;
  return { event: event.type, id: event.seq, data };
}
