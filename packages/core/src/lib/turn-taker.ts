/** Milliseconds for which a loop may block the event loop. */
const TURN_MS = 50;

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
    return new Promise((resolve) => {
      setTimeout(() => {
        since = performance.now();
        resolve();
      }, 0);
    });
  };
}
