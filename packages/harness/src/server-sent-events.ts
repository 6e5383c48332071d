import { type AgentEvent, errorText } from '@x/core';

/** Milliseconds between comments that keep a quiet connection open. */
const HEARTBEAT_MS = 15_000;

/**
 * Makes an HTTP answer of an agent's events, as server-sent events: `event` is the type of each, `id` its `seq`, `data` the event as JSON. An
 * `EventSource` hears them by their types; comments keep a quiet connection open. A failure of the stream is an event `error`. When
 * the reader goes away the stream of events is closed, and with it whatever the agent does then.
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
 * @param options `heartbeatMs`: milliseconds between comments, 15 000 by default; 0 sends none.
 */
export function serverSentEvents(
  events: AsyncIterable<AgentEvent>,
  { heartbeatMs = HEARTBEAT_MS }: { readonly heartbeatMs?: number } = {},
): Response {
  const iterator = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (heartbeatMs === 0) return;
      timer = setInterval(() => controller.enqueue(encoder.encode(': quiet\n\n')), heartbeatMs);
      timer.unref();
    },
    async pull(controller) {
      const send = (type: string, data: unknown, id = '') =>
        controller.enqueue(encoder.encode(`${id}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`));
      try {
        const { done, value } = await iterator.next();
        if (!done) {
          const data = value.type === 'call.failed' ? { ...value, error: errorText(value.error) } : value;
          send(value.type, data, `id: ${value.seq}\n`);
          return;
        }
      } catch (error) {
        send('error', { message: errorText(error) });
      }
      clearInterval(timer);
      controller.close();
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
