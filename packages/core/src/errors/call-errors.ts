import type { PendingCall, StopReason } from '../agent/agent-event.js';
import { XError } from './x-error.js';

/**
 * Something was asked for that the parts in use cannot do, for example `compact` without a compaction capability.
 *
 * @code capability_missing No capability of the agent can do what was asked for, such as `compact`. Do: Add the one that the message names with `.use(…)`.
 */
export class CapabilityError extends XError {
  static override readonly brand = 'CapabilityError';
  /** The operation that was asked for. */
  readonly ability: string;

  constructor(ability: string, message: string, options: { cause?: unknown } = {}) {
    super('capability_missing', message, options);
    this.ability = ability;
  }
}

/**
 * Thrown by a capability's hook to end the call in an orderly way: open tool calls are closed, what was said is stored,
 * and the reply has the `stopReason`. To be thrown from `aroundReason` or `aroundModel`, between two steps.
 *
 * @code call_stopped A hook of a capability ended the call, with `stopReason`. Do: Do not catch it around `next()`; read `reply.stopReason`.
 */
export class StopCallError extends XError {
  static override readonly brand = 'StopCallError';
  readonly stopReason: StopReason;

  constructor(stopReason: StopReason, message: string, options: { cause?: unknown } = {}) {
    super('call_stopped', message, options);
    this.stopReason = stopReason;
  }
}

/**
 * Thrown by a tool that waits for others whose calls need approval, as for a subagent. The tool call stays open, a human is
 * asked about `calls` as about calls of the agent itself, and the tool runs again with `context.decisions`.
 *
 * @code approval_required A tool waits until a human has decided about the calls in `calls`. Do: Do not catch it around `next()`; decide, and `agent.resume(context, { decisions })`.
 */
export class ApprovalRequiredError extends XError {
  static override readonly brand = 'ApprovalRequiredError';
  readonly calls: readonly PendingCall[];

  constructor(calls: readonly PendingCall[]) {
    const names = calls.map(({ name }) => name).join(', ');
    super('approval_required', `Waits for approval of ${names}.`);
    this.calls = calls;
  }
}

/**
 * Thrown by a tool that ran, and does not know whether it took effect. Unless the tool is `readOnly`, the model reads that it must
 * look before it repeats the call.
 *
 * @code outcome_unknown A tool ran, and cannot say whether it took effect. Do: Look before you repeat the call.
 */
export class OutcomeUnknownError extends XError {
  static override readonly brand = 'OutcomeUnknownError';
  readonly outcome = 'unknown';

  constructor(message: string, options: { cause?: unknown } = {}) {
    super('outcome_unknown', message, options);
  }
}
