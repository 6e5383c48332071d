import { hasBrand, XError } from './x-error.js';

/**
 * A session store could not do its work: what it stores is damaged (`session_corrupt`) or was written by a newer release
 * (`session_newer`), or its backend is out of reach or refuses (`session_unavailable`). A load that fails this way must
 * fail the call: it never means "new session".
 */
export class SessionStoreError extends XError {
  /**
   * Whether anything was written: `none`, or `unknown` where a reply was lost. A commit with an unknown outcome is sent
   * again as it is, with its operation; it is applied once.
   */
  readonly outcome: 'none' | 'unknown';
  /** The session's key, encoded, where the failure concerns one session. */
  readonly sessionKey: string | undefined;

  constructor(
    code: 'session_corrupt' | 'session_newer' | 'session_unavailable' | 'stream_stalled',
    message: string,
    details: { sessionKey?: string; cause?: unknown; outcome?: 'none' | 'unknown' } = {},
  ) {
    super(code, message, { cause: details.cause, brands: ['SessionStoreError'] });
    this.outcome = details.outcome ?? (code === 'session_unavailable' ? 'unknown' : 'none');
    this.sessionKey = details.sessionKey;
  }

  static override isInstance(error: unknown): error is SessionStoreError {
    return hasBrand(error, 'SessionStoreError');
  }
}
