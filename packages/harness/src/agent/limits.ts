import * as z from 'zod';

const atMost = (fallback: number) => z.number().min(0).default(fallback);

/**
 * Milliseconds that each wait of an agent may take, and sizes of an answer; 0 or `Infinity` for no limit. If a limit runs out, the
 * call ends with a stop reason, the model reads an error result, the process emits a warning, or the call throws an error whose
 * cause is a `TimeLimitError`.
 */
export const limitsSchema = z.strictObject({
  /** Until the first part of a streamed answer. Then the model is asked again, then the fallback; else `timed_out`. */
  modelFirstByteMs: atMost(300_000),
  /** Between two parts of a streamed answer. Then the same. */
  modelIdleMs: atMost(120_000),
  /** One request to a model, without its retries. Then the same. */
  modelMs: atMost(900_000),
  /**
   * Bytes of text, thoughts and inputs of calls in one answer. A longer answer is cut (`truncated`), and none of its calls runs.
   */
  answerBytes: atMost(4_000_000),
  /** Tool calls of one answer that run. The model reads that the others did not. */
  answerCalls: atMost(128),
  /** The longest pause that a provider may ask for (Retry-After). Beyond it the fallback takes over, or the call fails. */
  retryAfterMs: atMost(300_000),
  /** A tool without its own limit. The model reads that it timed out. */
  toolMs: atMost(120_000),
  /** A hook of a capability, without what it encloses. The call ends with `timed_out`; an `authorize` denies. */
  hookMs: atMost(600_000),
  /** A hook or background work that was told to stop. Then it is abandoned. */
  interruptMs: atMost(5_000),
  /** A whole call, once it has its turn: `timed_out`. */
  callMs: atMost(0),
  /** A reader of a stream that is too far behind: `timed_out`. */
  readerMs: atMost(600_000),
  /** Waiting for the session's turn: `lease_unavailable`. */
  queueMs: atMost(600_000),
  /** One request to the session store or the log: `session_unavailable`. */
  storeMs: atMost(30_000),
  /**
   * A store that does not answer a running call. The call sends the same commit again and starts no tool that changes something.
   * Then `session_unavailable`.
   */
  outageMs: atMost(300_000),
  /** Background work of a capability: a warning. */
  backgroundMs: atMost(600_000),
  /** What `close()` waits for each running call, background work and capability. Then it is stopped or abandoned. */
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
