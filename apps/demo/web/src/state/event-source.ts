import { EventHub, type HubMessage, type SessionEvent } from './event-hub.js';
import type { Order } from './event-worker.js';

interface Follower {
  /** Events that came since the last time, in order. */
  onEvents(events: readonly SessionEvent[]): void;
  onConnected(connected: boolean): void;
}

type Subscribe = (order: NonNullable<Order>, tell: (message: HubMessage) => void) => () => void;

const subscribe: Subscribe = typeof SharedWorker === 'undefined' ? inPage() : overWorker();

/** Where pages cannot share a stream each has its own. */
function inPage(): Subscribe {
  const hub = new EventHub();
  return ({ sessionId, after }, tell) => hub.follow(sessionId, after, tell);
}

/** All pages of this browser share one stream. */
function overWorker(): Subscribe {
  const { port } = new SharedWorker(new URL('./event-worker.ts', import.meta.url), { type: 'module' });
  return (order, tell) => {
    port.onmessage = ({ data }: MessageEvent<HubMessage>) => tell(data);
    port.postMessage(order);
    return () => port.postMessage(undefined);
  };
}

/** Follows a session from an event on. Returns a function that ends it. */
export function followSession(sessionId: string, afterEventId: string, follower: Follower): () => void {
  let after = afterEventId;
  const deliver = batching(follower.onEvents);
  const begin = () =>
    subscribe({ sessionId, after }, (message) => {
      if ('connected' in message) return follower.onConnected(message.connected);
      after = message.id;
      deliver.add(message.event);
    });
  let end = begin();
  // A page that is left for another stays in memory for the back button, and follows nothing meanwhile.
  const leave = () => end();
  const comeBack = ({ persisted }: PageTransitionEvent) => {
    if (persisted) end = begin();
  };
  addEventListener('pagehide', leave);
  addEventListener('pageshow', comeBack);
  return () => {
    removeEventListener('pagehide', leave);
    removeEventListener('pageshow', comeBack);
    end();
    deliver.cancel();
  };
}

/** Hands events on once a frame: text arrives faster than it can be drawn. */
function batching(onEvents: (events: readonly SessionEvent[]) => void) {
  let waiting: SessionEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let frame: number | undefined;
  const cancel = () => {
    clearTimeout(timer);
    if (frame !== undefined) cancelAnimationFrame(frame);
    timer = frame = undefined;
  };
  const flush = () => {
    cancel();
    const events = waiting;
    waiting = [];
    onEvents(events);
  };
  return {
    cancel,
    add(event: SessionEvent) {
      waiting.push(event);
      if (timer !== undefined) return;
      frame = requestAnimationFrame(flush);
      // A page in the background draws no frames.
      timer = setTimeout(flush, 250);
    },
  };
}
