import type { PendingCall, StopReason } from '../agent/agent-event.js';
import { XError } from './x-error.js';

/** Something was asked for that the parts in use cannot do, for example `compact` without a compaction capability. */
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
 * Thrown by a tool that ran and cannot tell whether it took effect, or what came of it. Unless the tool is `readOnly`, the model is
 * told to look before it repeats the call.
 */
export class OutcomeUnknownError extends XError {
  static override readonly brand = 'OutcomeUnknownError';
  readonly outcome = 'unknown';

  constructor(message: string, options: { cause?: unknown } = {}) {
    super('outcome_unknown', message, options);
  }
}
