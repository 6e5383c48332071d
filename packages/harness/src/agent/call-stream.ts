import type { AgentEvent } from '@x/core';
import { EventJournal } from '../lib/event-journal.js';
import type { Reply } from './call-options.js';

/** The events of a call as they come, and its reply: the value that the generator returns. */
export interface CallStream extends AsyncGenerator<AgentEvent, Reply> {
  /** The reply. Begins the call where no loop has: `await agent.stream('Hi').reply` needs none. */
  readonly reply: Promise<Reply>;
}

/** Makes the stream of a call that `run` begins, with the journal to write to and a signal for when its reader left. */
export function callStream(
  run: (events: EventJournal<Reply>, abandoned: AbortSignal) => Promise<Reply>,
): CallStream {
  const events = new EventJournal<Reply>();
  const abandoned = new AbortController();
  let running: Promise<Reply> | undefined;
  const begin = (): Promise<Reply> => {
    if (running !== undefined) return running;
    running = run(events, abandoned.signal);
    running.then(
      (result) => events.end({ result }),
      (cause: unknown) => events.end({ cause }),
    );
    return running;
  };
  async function* read(): AsyncGenerator<AgentEvent, Reply> {
    const reading = events.readFirst();
    try {
      void begin();
      return yield* reading;
    } finally {
      abandoned.abort();
      // Its error is thrown where the events end.
      await running?.catch(() => {});
    }
  }
  return Object.defineProperty(read(), 'reply', {
    get: begin,
  }) as CallStream;
}
