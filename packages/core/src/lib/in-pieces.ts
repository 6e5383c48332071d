/** Work that may rest wherever it yields. */
export type Work<Value> = Generator<void, Value, void>;

/** Milliseconds of work after which others have the thread. */
const PIECE_MS = 8;

let steps = 0;

/** Tests for every 16th of many small steps: to rest after each of them would take longer than the steps. */
export function isTimeToRest(): boolean {
  return (++steps & 15) === 0;
}

/** Does work at once. */
export function atOnce<Value>(work: Work<Value>): Value {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/**
 * Does work in pieces of about 8 ms, between which everything else that waits for the thread has its turn.
 *
 * @throws the signal's reason when it is aborted between two pieces.
 */
export async function inPieces<Value>(work: Work<Value>, signal?: AbortSignal): Promise<Value> {
  for (;;) {
    const until = performance.now() + PIECE_MS;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < until);
    await othersTurn();
    signal?.throwIfAborted();
  }
}

/** Lets everything else that waits for the thread have its turn. */
export function othersTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve);
  });
}
