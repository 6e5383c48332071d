import { type SentEvent, serverSentEvents } from '@x/harness';
import type { Backend } from './backend.js';

/** Events that may wait for a reader before it is sent away; it comes back with what it has had and misses none. */
const MAX_WAITING = 5_000;

interface StreamOptions {
  /** The last event that the reader has had, by session. */
  readonly after: Readonly<Record<string, string>>;
  readonly heartbeatMs: number;
  readonly closing: AbortSignal;
}

/**
 * The events of some sessions as server-sent events, each `{ session, id, event }`: one stream for all tabs of a browser. A
 * `ping` tells the reader that a quiet connection is alive.
 */
export function eventStream(backend: Backend, { after, heartbeatMs, closing }: StreamOptions): Response {
  let leave = () => {};
  const sent = new ReadableStream<SentEvent>(
    {
      start(controller) {
        let ended = false;
        const end = () => {
          if (ended) return;
          ended = true;
          leave();
          controller.close();
        };
        const subscriptions = Object.entries(after).map(([session, cursor]) =>
          backend.subscribe(session, cursor, ({ id, event }) => {
            if (ended) return;
            controller.enqueue({ data: { session, id, event } });
            if ((controller.desiredSize ?? 0) <= 0) end();
          }),
        );
        closing.addEventListener('abort', end);
        leave = () => {
          for (const unsubscribe of subscriptions) unsubscribe();
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
