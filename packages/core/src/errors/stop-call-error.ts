import type { StopReason } from '../agent/agent-event.js';
import { hasBrand, XError } from './x-error.js';

/**
 * Thrown by a capability's hook to end the call in an orderly way: open tool calls are closed, what was said is stored,
 * and the reply has the `stopReason`. To be thrown from `aroundReason` or `aroundModel`, between two steps.
 */
export class StopCallError extends XError {
  readonly stopReason: StopReason;

  constructor(stopReason: StopReason, message: string, options: { cause?: unknown } = {}) {
    super('call_stopped', message, { cause: options.cause, brands: ['StopCallError'] });
    this.stopReason = stopReason;
  }

  static override isInstance(error: unknown): error is StopCallError {
    return hasBrand(error, 'StopCallError');
  }
}
