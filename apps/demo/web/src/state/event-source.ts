import type { PageEvent } from '../../../src/server/transcript.js';
import { eventsUrl } from './api.js';

type SessionEvent = PageEvent | { readonly type: 'reset' };

interface Follower {
  /** Events that came since the last time, in order. */
  onEvents(events: readonly SessionEvent[]): void;
  onConnected(connected: boolean): void;
}

/** The server gives a sign of life every 15 s; after this long without one the connection is dead. */
const SILENCE_MS = 40_000;
const MAX_DELAY_MS = 10_000;

/**
 * Follows a session from an event on, through lost connections, sleeping laptops and restarted servers, and misses
 * nothing: what it cannot resume is told as `reset`. Returns a function that ends it.
 */
export function followSession(sessionId: string, afterEventId: string, follower: Follower): () => void {
  let lastEventId = afterEventId;
  let source: EventSource | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let delay = 500;
  const deliver = batching(follower.onEvents);

  const alive = () => {
    clearTimeout(silence);
    silence = setTimeout(reconnect, SILENCE_MS);
  };
  const connect = () => {
    source = new EventSource(eventsUrl(sessionId, lastEventId));
    source.onmessage = ({ data, lastEventId: id }: MessageEvent<string>) => {
      lastEventId = id;
      alive();
      deliver.add(JSON.parse(data) as SessionEvent);
    };
    source.addEventListener('ping', () => {
      delay = 500;
      alive();
      follower.onConnected(true);
    });
    source.onerror = () => {
      follower.onConnected(false);
      // It tries again by itself unless the server answered with an error.
      if (source?.readyState === EventSource.CLOSED) reconnect();
    };
    alive();
  };
  const reconnect = () => {
    close();
    follower.onConnected(false);
    retry = setTimeout(connect, delay);
    delay = Math.min(delay * 2, MAX_DELAY_MS);
  };
  const close = () => {
    source?.close();
    clearTimeout(silence);
    clearTimeout(retry);
  };
  connect();
  return () => {
    close();
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
