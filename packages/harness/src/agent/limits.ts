import * as z from 'zod';

const atMost = (fallback: number) => z.number().min(0).default(fallback);

/**
 * Limits of an agent's waits in milliseconds, and of the size of an answer; 0 or `Infinity` for no limit. If a limit is exceeded, the call
 * ends with a stop reason, the model reads an error result, the process emits a warning, or the call throws an error whose cause is a
 * `TimeLimitError`.
 */
export const limitsSchema = z.strictObject({
  /** Time to the first part of a streamed answer. Beyond it, the request is repeated, then sent to the fallback; otherwise `timed_out`. */
  modelFirstByteMs: atMost(300_000),
  /** Time between two parts of a streamed answer. Beyond it, the same happens as with `modelFirstByteMs`. */
  modelIdleMs: atMost(120_000),
  /** Time of one model request, without retries. Beyond it, the same happens as with `modelFirstByteMs`. */
  modelMs: atMost(900_000),
  /** Bytes of one answer, without files. A longer answer is cut off (`truncated`), and none of its tool calls runs. */
  answerBytes: atMost(4_000_000),
  /** Maximum number of tool calls of one answer. Calls beyond it do not run, and the model is informed. */
  answerCalls: atMost(128),
  /** The longest pause that a provider may request (Retry-After). Beyond it, the fallback takes over, or the call fails. */
  retryAfterMs: atMost(300_000),
  /** Time of a tool call, unless the tool has its own limit. Beyond it, the model gets an error as the result. */
  toolMs: atMost(120_000),
  /**
   * Time of a capability's hook, without the time in `next()`. Beyond it, the call ends with `timed_out`; an `authorize` hook denies.
   */
  hookMs: atMost(600_000),
  /** Time in which a hook, background work or a tool with `timeoutMs: 0` must end after an abort. Beyond it, the agent does not wait for it. */
  interruptMs: atMost(5_000),
  /** Time of a whole call, without its wait for the session. Beyond it: `timed_out`. */
  callMs: atMost(0),
  /** Time that a call waits for a slow reader of its stream. Beyond it: `timed_out`. */
  readerMs: atMost(600_000),
  /** Time that a call waits for a slot or for its session. Beyond it: `overloaded` or `lease_unavailable`. */
  queueMs: atMost(600_000),
  /** Time of one request to the session store or the log. Beyond it: `session_unavailable`. */
  storeMs: atMost(30_000),
  /**
   * Time that a running call waits for an unresponsive store. Meanwhile it retries the commit, and does not start tools that change
   * something. Beyond it: `session_unavailable`.
   */
  outageMs: atMost(300_000),
  /** Time of a capability's background work. Beyond it, the process emits a warning. */
  backgroundMs: atMost(600_000),
  /** Time that `close()` waits for each running call, background task and capability. Then each of these is stopped or abandoned. */
  closeMs: atMost(30_000),
});

/** Limits of an agent's waits in milliseconds, and of the size of its answers. */
export type Limits = z.input<typeof limitsSchema>;
export type ParsedLimits = z.output<typeof limitsSchema>;

/** The limits that a call can override. */
export const callLimitsSchema = z.partialRecord(
  limitsSchema.omit({ storeMs: true, backgroundMs: true, closeMs: true }).keyof(),
  z.number().min(0).or(z.literal(Number.POSITIVE_INFINITY)),
);

/** The limits of one call. */
export type CallLimits = z.output<typeof callLimitsSchema>;

/** Replaces `Infinity` by 0, because configuration files cannot contain `Infinity`. */
export function finiteLimits(limits: Limits): Limits {
  return Object.fromEntries(
    Object.entries(limits).map(([name, ms]) => [name, ms === Number.POSITIVE_INFINITY ? 0 : ms]),
  );
}
