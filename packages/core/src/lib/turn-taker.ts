/** Milliseconds for which a loop over what others yield may hold the process. */
const TURN_MS = 50;

/**
 * For loops over what others yield: a generator that never waits would keep timers, signals and all other work from ever running.
 *
 * @returns what to call at each item and to await where it gives a promise: others have their turn meanwhile.
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
