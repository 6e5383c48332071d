import * as z from 'zod';

const atMost = (fallback: number) => z.number().min(0).default(fallback);

/**
 * Milliseconds that each wait of an agent may take, and sizes of an answer; 0 or `Infinity` for no limit. What runs out has a name: a stop
 * reason, an error result that the model reads, a warning or an error whose cause is a `TimeLimitError`.
 */
export const limitsSchema = z.strictObject({
  /** From a streamed request to its first part. The model is then asked again, then the next one; else `timed_out`. */
  modelFirstByteMs: atMost(300_000),
  /** From one part of a stream to the next. As above. */
  modelIdleMs: atMost(120_000),
  /** One request to a model in all, retries apart. As above. */
  modelMs: atMost(900_000),
  /** Bytes of text, thoughts and inputs of calls in one answer. What is longer is cut: `truncated`, and no call of it runs. */
  answerBytes: atMost(4_000_000),
  /** Tool calls of one answer. Further ones are left out, which the model reads. */
  answerCalls: atMost(128),
  /** The longest pause that a provider may ask for (Retry-After). Beyond it the next model takes over, or the call fails. */
  retryAfterMs: atMost(300_000),
  /** A tool that has no limit of its own. The model reads that it timed out. */
  toolMs: atMost(120_000),
  /** A hook of a capability, without what it encloses. The call ends with `timed_out`; an `authorize` denies. */
  hookMs: atMost(600_000),
  /** A hook, or work in the background, after it was told to end. It is then left alone. */
  interruptMs: atMost(5_000),
  /** A whole call, from its turn to its end: `timed_out`. */
  callMs: atMost(0),
  /** A reader of a stream who is too far behind for the call to go on: `timed_out`. */
  readerMs: atMost(600_000),
  /** Until a call has its session's turn: `lease_unavailable`. */
  queueMs: atMost(600_000),
  /** One request to the session store or the log: `session_unavailable`. */
  storeMs: atMost(30_000),
  /**
   * What a running call waits for a store that does not answer, in all: it sends the same commit again, and begins no tool that changes
   * something. Then `session_unavailable`.
   */
  outageMs: atMost(300_000),
  /** Work in the background that a capability began: a warning. */
  backgroundMs: atMost(600_000),
  /** What `close()` waits for each: running calls, work in the background, a capability. Then it is stopped, or abandoned. */
  closeMs: atMost(30_000),
});

/** Milliseconds that waits of an agent may take, and sizes of its answers. */
export type Limits = z.input<typeof limitsSchema>;
export type ParsedLimits = z.output<typeof limitsSchema>;

/** The limits that one call may have of its own. */
export const callLimitsSchema = z.partialRecord(
  limitsSchema.omit({ storeMs: true, backgroundMs: true, closeMs: true }).keyof(),
  z.number().min(0).or(z.literal(Number.POSITIVE_INFINITY)),
);

/** The limits of one call. */
export type CallLimits = z.output<typeof callLimitsSchema>;

/** Infinity has no place in the files that settings come from: it is 0 there. */
export function finiteLimits(limits: Limits): Limits {
  return Object.fromEntries(
    Object.entries(limits).map(([name, ms]) => [name, ms === Number.POSITIVE_INFINITY ? 0 : ms]),
  );
}
