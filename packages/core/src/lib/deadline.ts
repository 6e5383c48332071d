import { XError } from '../errors/x-error.js';
import { turnTaker } from './turn-taker.js';

/** The longest delay that `setTimeout` holds: beyond it, it fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * A wait was longer than its limit allows.
 *
 * @code timed_out The limit in `limit` ran out. Do: Raise it, or set it to 0 for no limit.
 */
export class TimeLimitError extends XError {
  static override readonly brand = 'TimeLimitError';
  /** The setting, for example `limits.modelIdleMs`. */
  readonly limit: string;
  readonly ms: number;

  /** @param subject The one that was waited for, as the beginning of a sentence. */
  constructor(subject: string, limit: string, ms: number) {
    super('timed_out', `${subject} timed out after ${ms} ms (${limit}; 0 for no limit).`, {
      clientMessage: 'This took too long. Try again.',
    });
    this.limit = limit;
    this.ms = ms;
  }
}

/** Callbacks by the signal that calls them. Each signal has one listener of ours: to listen costs more than a short wait. */
const followers = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal fires, and answers a function that stops that. */
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
 * Awaits some work until the signal fires, also where the work itself ignores the signal, as some clients do. A later
 * result is ignored.
 *
 * @example
 * ```ts
 * const answer = await unlessAborted(client.send(request), AbortSignal.timeout(10_000));
 * ```
 *
 * @param graceMs Milliseconds that the work has to end by itself once the signal has fired; `Infinity` for as long as it takes. Default 0.
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

interface Wait {
  readonly reject: (reason: unknown) => void;
  readonly graceMs: number;
  /** Ends the grace. */
  stop?: () => void;
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
  readonly #timers = new Map<string, () => void>();
  readonly #waiting = new Set<Wait>();
  readonly #leave: (() => void) | undefined;
  #abort: AbortController | undefined;
  #over: { readonly reason: unknown } | undefined;

  constructor(parent?: AbortSignal) {
    if (parent?.aborted) this.abort(parent.reason);
    else this.#leave = parent && follow(parent, () => this.abort(parent.reason));
  }

  /** Fires with the parent's, when a limit runs out, or with {@link Deadline.abort}. */
  get signal(): AbortSignal {
    // Made for who asks: it costs more than all the rest of a short wait.
    this.#abort ??= new AbortController();
    if (this.#over) this.#abort.abort(this.#over.reason);
    return this.#abort.signal;
  }

  /** Ends the wait for this reason, unless it has ended. */
  abort(reason: unknown): void {
    if (this.#over) return;
    this.#over = { reason };
    this.#abort?.abort(reason);
    for (const wait of this.#waiting) this.#end(wait);
  }

  /** For loops over what answers at once, which never wait: throws the signal's reason once it has fired. */
  check(): void {
    if (this.#over) throw this.#over.reason;
  }

  /** Starts a limit, or starts it again. The signal's reason is a {@link TimeLimitError} when it runs out. */
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
      // Whatever comes second is ignored.
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
    // Without a grace, work that is done by now counts.
    if (wait.graceMs === 0) queueMicrotask(() => wait.reject(this.#over?.reason));
    else wait.stop = startTimer(wait.graceMs, () => wait.reject(this.#over?.reason));
  }

  /** Stops all limits, and follows the parent no more. */
  stop(): void {
    for (const limit of [...this.#timers.keys()]) this.pause(limit);
    this.#leave?.();
  }
}

/** Yields what an iterable yields, each step awaited by `wait`. One that hangs is left alone: it does not end at its return either. */
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
 * Runs some work until it ends, its limit runs out or the parent's signal fires; the deadline's signal tells the work.
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
