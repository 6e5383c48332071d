import type { AgentEvent } from '@x/core';
import { EventJournal } from '../lib/event-journal.js';
import type { Reply } from './call-options.js';

/** The events of a call as they come, and its reply: the value that the generator returns. */
export interface CallStream extends AsyncGenerator<AgentEvent, Reply> {
  /** The reply. Begins the call where no loop has: `await agent.stream('Hi').reply` needs none. */
  readonly reply: Promise<Reply>;
}

/** Makes the stream of a call that `run` begins, with the journal to write to, and to end, and a signal for when its reader left. */
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
      // Its error is thrown where the events end.
      await running?.catch(() => {});
    }
  }
  const stream = read();
  const leave = stream.return.bind(stream);
  return Object.defineProperties(stream, {
    reply: { get: begin },
    // A generator returns only when what it waits for has come: a reader who leaves meanwhile ends the call at once.
    return: {
      value(reply: Reply | PromiseLike<Reply>) {
        if (isRead) abandoned.abort();
        return leave(reply);
      },
    },
  }) as CallStream;
}
