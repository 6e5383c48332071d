import type { PendingCall, StopReason } from '../agent/agent-event.js';
import { XError } from './x-error.js';

/**
 * The operation needs a feature that is not installed, for example `compact` without a compaction capability.
 *
 * @code capability_missing No capability of the agent supports the operation, such as `compact`. Do: Add the capability named in the message with `.use(…)`.
 */
export class CapabilityError extends XError {
  static override readonly brand = 'CapabilityError';
  /** The requested operation. */
  readonly ability: string;

  constructor(ability: string, message: string, options: { cause?: unknown } = {}) {
    super('capability_missing', message, options);
    this.ability = ability;
  }
}

/**
 * Thrown by a capability's hook to end the call in an orderly way: open tool calls get a result, the messages are stored, and the reply has
 * the `stopReason`. Throw it from `aroundReason` or `aroundModel`, between two steps.
 *
 * @code call_stopped A hook of a capability ended the call, with `stopReason`. Do: Read `reply.stopReason`. In a hook, do not catch this error around `next()`.
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
 * Thrown by a tool if its nested calls, such as those of a subagent, need approval. The tool call stays open. A person decides on `calls`
 * in the same way as on the agent's own calls. Then the tool runs again with `context.decisions`.
 *
 * @code approval_required A tool waits until a human has decided about the calls in `calls`. Do: Pass the decisions to `agent.resume(context, { decisions })`. In a hook, do not catch this error around `next()`.
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
 * Thrown by a tool that ran but does not know whether it took effect. Unless the tool is `readOnly`, its result asks the model to check
 * before it repeats the call.
 *
 * @code outcome_unknown A tool ran, and it is unknown whether it took effect. Do: Check the effect before you repeat the call.
 */
export class OutcomeUnknownError extends XError {
  static override readonly brand = 'OutcomeUnknownError';
  readonly outcome = 'unknown';

  constructor(message: string, options: { cause?: unknown } = {}) {
    super('outcome_unknown', message, options);
  }
}
