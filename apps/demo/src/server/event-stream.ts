import { type SentEvent, serverSentEvents } from '@x/harness';
import type { Backend } from './backend.js';

/** Events that may wait for a reader before it is sent away; it comes back with `Last-Event-ID` and misses none. */
const MAX_WAITING = 5_000;

/**
 * A session's events as server-sent events. A browser that lost the connection resumes after `Last-Event-ID` by itself;
 * `after` is for the first time. A `ping` tells the page that a quiet connection is alive.
 */
export function eventStream(
  backend: Backend,
  sessionId: string,
  options: {
    readonly after: string | undefined;
    readonly heartbeatMs: number;
    readonly closing: AbortSignal;
  },
): Response {
  const { after, heartbeatMs, closing } = options;
  let leave = () => {};
  const sent = new ReadableStream<SentEvent>(
    {
      start(controller) {
        let ended = false;
        const end = () => {
          ended = true;
          leave();
          controller.close();
        };
        const unsubscribe = backend.subscribe(sessionId, after, ({ id, event }) => {
          if (ended) return;
          controller.enqueue({ id, data: event });
          if ((controller.desiredSize ?? 0) <= 0) end();
        });
        closing.addEventListener('abort', end);
        leave = () => {
          unsubscribe();
          closing.removeEventListener('abort', end);
        };
        // Too many may have waited already.
        if (ended) leave();
        else if (closing.aborted) end();
      },
      cancel: () => leave(),
    },
    new CountQueuingStrategy({ highWaterMark: MAX_WAITING }),
  );
  return serverSentEvents(readerOf(sent), { heartbeatMs });
}

/** Unlike a stream's own iterator, this one ends at once, also while it waits for an event. */
function readerOf<Value>(stream: ReadableStream<Value>): AsyncIterable<Value> {
  const reader = stream.getReader();
  const next = async () => (await reader.read()) as IteratorResult<Value, undefined>;
  const end = async () => {
    await reader.cancel();
    return { done: true, value: undefined } as const;
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}
