import { hasBrand, XError } from './x-error.js';

/**
 * The right to run a session's turns could not be had (`lease_unavailable`: another process has it) or is gone
 * (`lease_lost`: it expired and somebody else took it, so that a commit under it was refused; nothing was written).
 */
export class SessionLeaseError extends XError {
  /** The session's key, encoded. */
  readonly sessionKey: string;

  constructor(
    code: 'lease_unavailable' | 'lease_lost',
    message: string,
    details: { readonly sessionKey: string; readonly cause?: unknown },
  ) {
    super(code, message, { cause: details.cause, brands: ['SessionLeaseError'] });
    this.sessionKey = details.sessionKey;
  }

  static override isInstance(error: unknown): error is SessionLeaseError {
    return hasBrand(error, 'SessionLeaseError');
  }
}
