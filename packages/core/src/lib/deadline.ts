import { XError } from '../errors/x-error.js';
import { turnTaker } from './in-pieces.js';

/** The longest delay in milliseconds that `setTimeout` accepts; longer delays fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Error for a wait that exceeded its limit.
 *
 * @code timed_out The time limit that `limit` names was exceeded. Do: Raise this limit, or set it to 0 for no limit.
 */
export class TimeLimitError extends XError {
  static override readonly brand = 'TimeLimitError';
  /** Name of the limit's setting, such as `limits.modelIdleMs`. */
  readonly limit: string;
  readonly ms: number;

  /** @param subject The work that was awaited, as the subject of a sentence: `The server`. */
  constructor(subject: string, limit: string, ms: number) {
    super('timed_out', `${subject} timed out after ${ms} ms (${limit}; 0 for no limit).`, {
      clientMessage: 'This took too long. Try again.',
    });
    this.limit = limit;
    this.ms = ms;
  }
}

/** Callbacks by signal. Each signal gets only one listener, because adding a listener costs more than a short wait. */
const followers = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal fires. Returns a function that removes the callback. */
function follow(signal: AbortSignal, onAbort: () => void): () => void {
  const known = followers.get(signal);
  const all = known ?? new Set();
  all.add(onAbort);
  if (known === undefined) {
    followers.set(signal, all);
    const callAll = () => {
      for (const call of all) call();
    };
    signal.addEventListener('abort', callAll, { once: true });
  }
  return () => void all.delete(onAbort);
}

/**
 * Awaits some work until the signal fires, even if the work ignores the signal, as some clients do. A later result is ignored.
 *
 * @example
 * ```ts
 * const answer = await unlessAborted(client.send(request), AbortSignal.timeout(10_000));
 * ```
 *
 * @param graceMs Milliseconds that the work may continue after the signal has fired; `Infinity` for no limit. Default 0.
 * @throws the signal's reason.
 */
export async function unlessAborted<Value>(
  work: PromiseLike<Value>,
  signal: AbortSignal | undefined,
  graceMs = 0,
): Promise<Value> {
  if (signal === undefined) return work;
  const deadline = new Deadline(signal);
  try {
    return await deadline.race(work, graceMs);
  } finally {
    deadline.stop();
  }
}

/**
 * Calls back after `ms` milliseconds, which may exceed the limit of `setTimeout`. 0 and `Infinity` never fire.
 *
 * @returns A function that stops the timer.
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

interface Wait {
  readonly reject: (reason: unknown) => void;
  readonly graceMs: number;
  /** Stops the timer of the grace period. */
  stop?: () => void;
}

/**
 * A signal that follows a parent signal, and also fires when a limit runs out. Several named limits may run at once. Call
 * {@link Deadline.stop} at the end.
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
  readonly #timers = new Map<string, () => void>();
  readonly #waiting = new Set<Wait>();
  readonly #leave: (() => void) | undefined;
  #abort: AbortController | undefined;
  #over: { readonly reason: unknown } | undefined;

  constructor(parent?: AbortSignal) {
    if (parent?.aborted) this.abort(parent.reason);
    else this.#leave = parent && follow(parent, () => this.abort(parent.reason));
  }

  /** Fires with the parent signal, when a limit runs out, or by {@link Deadline.abort}. */
  get signal(): AbortSignal {
    // Created on demand, because it costs more than the rest of a short wait.
    this.#abort ??= new AbortController();
    if (this.#over) this.#abort.abort(this.#over.reason);
    return this.#abort.signal;
  }

  /** Ends all waits with this reason, unless the deadline is over already. */
  abort(reason: unknown): void {
    if (this.#over) return;
    this.#over = { reason };
    this.#abort?.abort(reason);
    for (const wait of this.#waiting) this.#end(wait);
  }

  /** Throws the signal's reason if the signal has fired. Call it in loops over synchronous results, because they never wait. */
  check(): void {
    if (this.#over) throw this.#over.reason;
  }

  /** Starts or restarts a limit. If it runs out, the signal's reason is a {@link TimeLimitError}. */
  start(subject: string, limit: string, ms: number): void {
    this.pause(limit);
    this.#timers.set(
      limit,
      startTimer(ms, () => this.abort(new TimeLimitError(subject, limit, ms))),
    );
  }

  /** Stops one limit until it is started again. */
  pause(limit: string): void {
    this.#timers.get(limit)?.();
    this.#timers.delete(limit);
  }

  /** Awaits some work until the signal fires: {@link unlessAborted}. */
  race<Value>(work: PromiseLike<Value>, graceMs = 0): Promise<Value> {
    return new Promise((resolve, reject) => {
      const wait: Wait = { reject, graceMs };
      this.#waiting.add(wait);
      // The second result is ignored.
      void Promise.resolve(work)
        .then(resolve, reject)
        .then(() => {
          wait.stop?.();
          this.#waiting.delete(wait);
        });
      if (this.#over) this.#end(wait);
    });
  }

  #end(wait: Wait): void {
    // Without a grace period, work that is already done still counts.
    if (wait.graceMs === 0) queueMicrotask(() => wait.reject(this.#over?.reason));
    else wait.stop = startTimer(wait.graceMs, () => wait.reject(this.#over?.reason));
  }

  /** Stops all limits, and stops following the parent. */
  stop(): void {
    for (const limit of [...this.#timers.keys()]) this.pause(limit);
    this.#leave?.();
  }
}

/**
 * Yields the items of an iterable; `wait` awaits each step. Does not await the iterator's `return`, because a hanging iterator would
 * also hang in `return`.
 */
export async function* stepwise<Item>(
  items: AsyncIterable<Item>,
  wait: (step: () => Promise<IteratorResult<Item>>) => Promise<IteratorResult<Item>>,
): AsyncGenerator<Item, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  const giveWay = turnTaker();
  try {
    for (;;) {
      const { done, value } = await wait(() => iterator.next());
      if (done) return;
      yield value;
      const turn = giveWay();
      if (turn !== undefined) await turn;
    }
  } finally {
    void (async () => iterator.return?.())().catch(() => {});
  }
}

/**
 * Runs some work until it ends, its limit runs out or the parent's signal fires. The work can watch the deadline's signal.
 *
 * @throws {TimeLimitError} when the limit runs out, and the reason of the parent's signal.
 */
export async function withinLimit<Value>(
  [subject, limit, ms]: readonly [subject: string, limit: string, ms: number],
  work: (deadline: Deadline) => PromiseLike<Value>,
  parent?: AbortSignal,
): Promise<Value> {
  const deadline = new Deadline(parent);
  try {
    deadline.start(subject, limit, ms);
    return await deadline.race(work(deadline));
  } finally {
    deadline.stop();
  }
}
