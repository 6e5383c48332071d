import { hasBrand, XError } from './x-error.js';

/**
 * A session store could not do its work: what it stores is damaged (`session_corrupt`), or its backend is out of
 * reach or refuses (`session_unavailable`). A load that fails this way must fail the call: it never means "new session".
 */
export class SessionStoreError extends XError {
  /** The session's key, encoded, where the failure concerns one session. */
  readonly sessionKey: string | undefined;

  constructor(
    code: 'session_corrupt' | 'session_unavailable',
    message: string,
    details: { sessionKey?: string; cause?: unknown } = {},
  ) {
    super(code, message, { cause: details.cause, brands: ['SessionStoreError'] });
    this.sessionKey = details.sessionKey;
  }

  static override isInstance(error: unknown): error is SessionStoreError {
    return hasBrand(error, 'SessionStoreError');
  }
}
