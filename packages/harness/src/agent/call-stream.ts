import type { AgentEvent } from '@x/core';
import { EventJournal } from '../lib/event-journal.js';
import { leaveAtOnce } from '../lib/leave-at-once.js';
import type { Reply } from './call-options.js';

/** The events of a call as they occur. The generator returns the reply. */
export interface CallStream extends AsyncGenerator<AgentEvent, Reply> {
  /** The reply. Reading it starts the call if no loop has started it: `await agent.stream('Hi').reply` works without a loop. */
  readonly reply: Promise<Reply>;
}

/**
 * Returns the stream of a call. `run` starts the call, writes its events to the journal and ends the journal. Its signal fires when the
 * reader leaves.
 */
export function callStream(
  run: (events: EventJournal<Reply>, abandoned: AbortSignal) => Promise<Reply>,
): CallStream {
  const events = new EventJournal<Reply>();
  const abandoned = new AbortController();
  let running: Promise<Reply> | undefined;
  const begin = (): Promise<Reply> => {
    if (running !== undefined) return running;
    running = run(events, abandoned.signal);
    return running;
  };
  let isRead = false;
  async function* read(): AsyncGenerator<AgentEvent, Reply> {
    const reading = events.readFirst();
    isRead = true;
    try {
      void begin();
      return yield* reading;
    } finally {
      abandoned.abort();
      // The reader gets this error at the end of the events.
      await running?.catch(() => {});
    }
  }
  const stream = leaveAtOnce(read(), () => isRead && abandoned.abort());
  return Object.defineProperty(stream, 'reply', { get: begin }) as CallStream;
}
