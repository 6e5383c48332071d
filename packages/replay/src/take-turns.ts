import { setImmediate as othersTurn } from 'node:timers/promises';

/** Longer than this, in milliseconds, a replay does not keep the thread. */
const TURN_MS = 20;

/**
 * For long work that waits for nothing: a function to be awaited between its parts, which lets others have the thread
 * once in a while and throws the reason of the signal once it is aborted.
 */
export function takeTurns(signal?: AbortSignal): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since >= TURN_MS) {
      await othersTurn();
      since = performance.now();
    }
    signal?.throwIfAborted();
  };
}
