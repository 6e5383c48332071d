import { hasBrand, XError } from '@x/core';

export type HarnessErrorCode = 'agent_closed' | 'nothing_to_resume' | 'not_pending' | 'no_plan';

/** What the agent, or a tool of the harness, refuses to do as things stand. */
export class HarnessError extends XError {
  constructor(code: HarnessErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(code, message, { cause: options.cause, brands: ['HarnessError'] });
  }

  static override isInstance(error: unknown): error is HarnessError {
    return hasBrand(error, 'HarnessError');
  }
}
