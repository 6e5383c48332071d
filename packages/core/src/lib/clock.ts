/** A source of time, which tests can replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Resolves after `ms`. Rejects with the signal's reason if it is aborted earlier.
   *
   * @param options `background`: the process may end while this waits.
   */
  sleep(
    ms: number,
    options?: { readonly signal?: AbortSignal | undefined; readonly background?: boolean | undefined },
  ): Promise<void>;
}

/** Lets the process end while a timer runs. Does nothing in browsers, where a timer is a number. */
export function letEnd(timer: { unref?(): unknown } | number): void {
  if (typeof timer === 'object') timer.unref?.();
}

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, { signal, background = false } = {}) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      if (background) letEnd(timer);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

let last = { at: 0, text: '' };

/** Returns the current time in ISO format. Formats each millisecond once. */
export function timestamp(): string {
  const at = Date.now();
  if (at !== last.at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}

/** A monotonic clock for measuring durations. */
export const steadyClock: Clock = { now: () => performance.now(), sleep: systemClock.sleep };
