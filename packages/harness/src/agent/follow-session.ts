import type { AgentEvent } from '@x/core';
import type { EventJournal, EventPlace } from '../lib/event-journal.js';
import { leaveAtOnce } from '../lib/leave-at-once.js';
import type { Reply } from './call-options.js';

/** Calls `begin` with the events of each call that starts. Returns a function that unsubscribes. */
export type Subscribe = (begin: (events: EventJournal<Reply>) => void) => () => void;

/**
 * Yields the events of a session's running call, then those of every later one, until the reader leaves. No call is missed, even if it
 * starts and ends while the reader is busy. The events of a failed call end with `call.failed`.
 */
export function followSession(
  running: EventJournal<Reply> | undefined,
  { after, signal }: { readonly after?: EventPlace | undefined; readonly signal?: AbortSignal | undefined },
  subscribe: Subscribe,
): AsyncGenerator<AgentEvent, undefined> {
  const calls = running === undefined ? [] : [running];
  const left = new AbortController();
  let wake = () => {};
  const unsubscribe = subscribe((events) => {
    calls.push(events);
    wake();
  });
  const leave = () => {
    left.abort();
    unsubscribe();
    wake();
  };
  if (signal?.aborted) leave();
  signal?.addEventListener('abort', leave, { once: true });
  async function* read(): AsyncGenerator<AgentEvent, undefined> {
    try {
      for (let call = calls.shift(); !left.signal.aborted; call = calls.shift()) {
        if (call) yield* call.events(call === running ? after : undefined, left.signal);
        else await new Promise<void>((resolve) => (wake = resolve));
      }
      return undefined;
    } finally {
      leave();
      signal?.removeEventListener('abort', leave);
    }
  }
  return leaveAtOnce(read(), leave);
}
