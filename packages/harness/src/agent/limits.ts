import * as z from 'zod';

const ms = (fallback: number) => z.number().min(0).default(fallback);

/**
 * Milliseconds that each wait of an agent may take; 0 or `Infinity` for no limit. What runs out has a name: a stop reason, an
 * error result that the model reads, a warning or an error whose cause is a `TimeLimitError`.
 */
export const limitsSchema = z.strictObject({
  /** From a streamed request to its first part. The model is then asked again, then the next one; else `timed_out`. */
  modelFirstByteMs: ms(300_000),
  /** From one part of a stream to the next. As above. */
  modelIdleMs: ms(120_000),
  /** One request to a model in all, retries apart. As above. */
  modelMs: ms(900_000),
  /** The longest pause that a provider may ask for (Retry-After). Beyond it the next model takes over, or the call fails. */
  retryAfterMs: ms(300_000),
  /** A tool that has no limit of its own. The model reads that it timed out. */
  toolMs: ms(120_000),
  /** A hook of a capability, without what it encloses. The call ends with `timed_out`; an `authorize` denies. */
  hookMs: ms(600_000),
  /** A hook, or work in the background, after it was told to end. It is then left alone. */
  interruptMs: ms(5_000),
  /** A whole call, from its turn to its end: `timed_out`. */
  callMs: ms(0),
  /** A reader of a stream who is too far behind for the call to go on: `timed_out`. */
  readerMs: ms(600_000),
  /** Until a call has its session's turn: `lease_unavailable`. */
  queueMs: ms(600_000),
  /** One request to the session store or the log: `session_unavailable`. */
  storeMs: ms(30_000),
  /** Work in the background that a capability began: a warning. */
  backgroundMs: ms(600_000),
  /** What `close()` waits for each: running calls, work in the background, a capability. Then it is told to end, or left alone. */
  closeMs: ms(30_000),
});

/** Milliseconds that waits of an agent may take. */
export type Limits = z.input<typeof limitsSchema>;
export type ParsedLimits = z.output<typeof limitsSchema>;

/** The limits that one call may have of its own. */
export const callLimitsSchema = z.partialRecord(
  limitsSchema.omit({ storeMs: true, backgroundMs: true, closeMs: true }).keyof(),
  z.number().min(0).or(z.literal(Number.POSITIVE_INFINITY)),
);

/** Milliseconds that waits of one call may take. */
export type CallLimits = z.output<typeof callLimitsSchema>;

/** Infinity has no place in the files that settings come from: it is 0 there. */
export function finiteLimits(limits: Limits): Limits {
  return Object.fromEntries(
    Object.entries(limits).map(([name, ms]) => [name, ms === Number.POSITIVE_INFINITY ? 0 : ms]),
  );
}
