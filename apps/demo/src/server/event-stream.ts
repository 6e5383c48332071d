import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Backend } from './backend.js';
import type { StampedEvent } from './session-feed.js';

/** Events that may wait for a reader before it is sent away; it comes back with `Last-Event-ID` and misses none. */
const MAX_WAITING = 5_000;

/**
 * A session's events as server-sent events. A browser that lost the connection resumes after `Last-Event-ID` by itself;
 * `after` is for the first time. A `ping` tells the page that a quiet connection is alive.
 */
export function eventStream(
  context: Context,
  backend: Backend,
  sessionId: string,
  options: {
    readonly after: string | undefined;
    readonly heartbeatMs: number;
    readonly closing: AbortSignal;
  },
): Response {
  return streamSSE(context, async (stream) => {
    const waiting: StampedEvent[] = [];
    let ended = false;
    let wake = () => {};
    const end = () => {
      ended = true;
      wake();
    };
    stream.onAbort(end);
    options.closing.addEventListener('abort', end);
    const unsubscribe = backend.subscribe(sessionId, options.after, (stamped) => {
      waiting.push(stamped);
      if (waiting.length > MAX_WAITING) end();
      wake();
    });
    try {
      // At once, so that the page knows that it is connected.
      await stream.writeSSE({ event: 'ping', data: '', retry: 1_000 });
      while (!ended && !options.closing.aborted) {
        const stamped = waiting.shift();
        if (stamped) await stream.writeSSE({ id: stamped.id, data: JSON.stringify(stamped.event) });
        else if (!(await woken(options.heartbeatMs, (callback) => (wake = callback)))) {
          await stream.writeSSE({ event: 'ping', data: '' });
        }
      }
    } finally {
      unsubscribe();
      options.closing.removeEventListener('abort', end);
    }
  });
}

/** Waits to be woken, for a time at most. Resolves to false when the time is over. */
function woken(timeoutMs: number, register: (wake: () => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    register(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
