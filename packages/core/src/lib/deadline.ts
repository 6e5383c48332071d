import { XError } from '../errors/x-error.js';

/** The longest delay that `setTimeout` holds: beyond it, it fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** A wait was longer than its limit allows. */
export class TimeLimitError extends XError {
  static override readonly brand = 'TimeLimitError';
  /** The setting, for example `limits.modelIdleMs`. */
  readonly limit: string;
  readonly ms: number;

  /** @param subject The one that was waited for, as the beginning of a sentence. */
  constructor(subject: string, limit: string, ms: number) {
    super('timed_out', `${subject} timed out after ${ms} ms (${limit}; 0 for no limit).`);
    this.limit = limit;
    this.ms = ms;
  }
}

/**
 * Awaits some work until the signal fires, also where the work itself ignores the signal, as some clients do. A later
 * result is ignored.
 *
 * @example
 * ```ts
 * const answer = await unlessAborted(client.send(request), AbortSignal.timeout(10_000));
 * ```
 *
 * @param graceMs Milliseconds that the work has to end by itself once the signal has fired. Default 0.
 * @throws the signal's reason.
 */
export async function unlessAborted<Value>(
  work: PromiseLike<Value>,
  signal: AbortSignal | undefined,
  graceMs = 0,
): Promise<Value> {
  if (signal === undefined) return work;
  let onAbort = () => {};
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      if (graceMs > 0) stop = startTimer(graceMs, () => reject(signal.reason));
      else reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop();
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Calls back after any time that a number can say: 0 and `Infinity` are never, and weeks are weeks.
 *
 * @returns a function that stops the timer.
 */
export function startTimer(ms: number, expire: () => void): () => void {
  if (ms <= 0 || ms === Number.POSITIVE_INFINITY) return () => {};
  let rest = ms;
  let timer: ReturnType<typeof setTimeout>;
  const wait = () => {
    const step = Math.min(rest, LONGEST_MS);
    rest -= step;
    timer = setTimeout(rest > 0 ? wait : expire, step);
  };
  wait();
  return () => clearTimeout(timer);
}

/**
 * A signal that follows a parent's and fires when a limit runs out. Several limits may run at once, each by its name. Call
 * {@link Deadline.stop} in the end.
 *
 * @example
 * ```ts
 * const deadline = new Deadline(request.signal);
 * try {
 *   deadline.start('The server', 'timeoutMs', 30_000);
 *   return await deadline.race(client.send(request, { signal: deadline.signal }));
 * } finally {
 *   deadline.stop();
 * }
 * ```
 */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #parent: AbortSignal | undefined;
  readonly #timers = new Map<string, () => void>();
  readonly #abort = new AbortController();
  readonly #onAbort = () => this.#abort.abort(this.#parent?.reason);

  constructor(parent?: AbortSignal) {
    this.signal = this.#abort.signal;
    this.#parent = parent;
    if (parent?.aborted) this.#onAbort();
    else parent?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Starts a limit, or starts it anew. The signal's reason is a {@link TimeLimitError} when it runs out. */
  start(subject: string, limit: string, ms: number): void {
    this.pause(limit);
    const expire = () => this.#abort.abort(new TimeLimitError(subject, limit, ms));
    this.#timers.set(limit, startTimer(ms, expire));
  }

  /** Stops one limit until it is started anew. */
  pause(limit: string): void {
    this.#timers.get(limit)?.();
    this.#timers.delete(limit);
  }

  /** Awaits some work until the signal fires: {@link unlessAborted}. */
  race<Value>(work: PromiseLike<Value>, graceMs?: number): Promise<Value> {
    return unlessAborted(work, this.signal, graceMs);
  }

  /** Stops all limits, and follows the parent no more. */
  stop(): void {
    for (const limit of [...this.#timers.keys()]) this.pause(limit);
    this.#parent?.removeEventListener('abort', this.#onAbort);
  }
}

/**
 * Runs some work until it ends, its limit runs out or the parent's signal fires; the work is given a signal for both.
 *
 * @throws {TimeLimitError} when the limit runs out, and the reason of the parent's signal.
 */
export async function withinLimit<Value>(
  [subject, limit, ms]: readonly [subject: string, limit: string, ms: number],
  work: (signal: AbortSignal) => PromiseLike<Value>,
  parent?: AbortSignal,
): Promise<Value> {
  const deadline = new Deadline(parent);
  try {
    deadline.start(subject, limit, ms);
    return await deadline.race(work(deadline.signal));
  } finally {
    deadline.stop();
  }
}
