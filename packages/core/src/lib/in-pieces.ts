/** Work that may pause at each `yield`. */
export type Work<Value> = Generator<void, Value, void>;

/** Milliseconds of work after which the event loop gets a turn. */
const PIECE_MS = 8;

/** Milliseconds for which a loop over items of a caller may block the event loop. */
const TURN_MS = 50;

let steps = 0;

/** Returns true for every 16th of many small steps, because pausing after each one would take longer than the steps. */
export function isTimeToRest(): boolean {
  return (++steps & 15) === 0;
}

/** Runs work to its end without pauses. */
export function atOnce<Value>(work: Work<Value>): Value {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/**
 * Runs work in pieces of about 8 ms. Between the pieces, other tasks of the event loop run.
 *
 * @throws the signal's reason if it is aborted between two pieces.
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

/** Resolves after other waiting tasks of the event loop have run. */
export function othersTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve);
  });
}

/**
 * Creates a function that keeps a loop over items of a caller from blocking the event loop. A generator that never waits would block timers,
 * signals and all other work.
 *
 * @returns A function to call at each item. If it returns a promise, await it, so that other work can run.
 */
export function turnTaker(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < TURN_MS) return undefined;
    return othersTurn().then(() => {
      since = performance.now();
    });
  };
}
