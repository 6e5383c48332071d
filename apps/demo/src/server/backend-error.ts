import { XError } from '@x/core';

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
  static override readonly brand = 'BackendError';

  constructor(code: BackendErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(code, message, options);
  }
}
