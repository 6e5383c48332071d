import type { PendingCall } from '../agent/agent-event.js';
import { hasBrand, XError } from './x-error.js';

/**
 * Thrown by a tool that waits for others whose calls need approval, as for a subagent. The tool call stays open, a human is
 * asked about `calls` as about calls of the agent itself, and the tool runs again with `context.decisions`.
 */
export class ApprovalRequiredError extends XError {
  readonly calls: readonly PendingCall[];

  constructor(calls: readonly PendingCall[]) {
    const names = calls.map(({ name }) => name).join(', ');
    super('approval_required', `Waits for approval of ${names}.`, { brands: ['ApprovalRequiredError'] });
    this.calls = calls;
  }

  static override isInstance(error: unknown): error is ApprovalRequiredError {
    return hasBrand(error, 'ApprovalRequiredError');
  }
}
