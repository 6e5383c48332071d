import { hasBrand, XError } from '@x/core';

export type BackendErrorCode =
  | 'session_not_found'
  | 'session_busy'
  | 'message_not_found'
  | 'nothing_to_undo'
  | 'not_pending'
  | 'not_found'
  | 'not_supported';

/** The backend cannot do what the page asks for. */
export class BackendError extends XError {
  constructor(code: BackendErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(code, message, { cause: options.cause, brands: ['BackendError'] });
  }

  static override isInstance(error: unknown): error is BackendError {
    return hasBrand(error, 'BackendError');
  }
}
