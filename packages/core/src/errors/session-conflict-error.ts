import { hasBrand, XError } from './x-error.js';

/** Somebody else committed to the session since it was loaded. Nothing was written. Load it again and retry. */
export class SessionConflictError extends XError {
  /** The session's key, encoded. */
  readonly sessionKey: string;
  readonly expectedVersion: number;
  /** The version found; 0 when the session does not exist. */
  readonly actualVersion: number;

  constructor(details: {
    sessionKey: string;
    expectedVersion: number;
    actualVersion: number;
    cause?: unknown;
  }) {
    super(
      'session_conflict',
      `Session ${details.sessionKey} is at version ${details.actualVersion}, not ${details.expectedVersion}: another ` +
        'writer committed first. Nothing was written; load the session again and retry.',
      { cause: details.cause, brands: ['SessionConflictError'] },
    );
    this.sessionKey = details.sessionKey;
    this.expectedVersion = details.expectedVersion;
    this.actualVersion = details.actualVersion;
  }

  static override isInstance(error: unknown): error is SessionConflictError {
    return hasBrand(error, 'SessionConflictError');
  }
}
