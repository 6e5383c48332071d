import { hasBrand, XError } from './x-error.js';

/** Somebody else committed to the session since it was loaded, or deleted it. Nothing was written. */
export class SessionConflictError extends XError {
  /** The session's key, encoded. */
  readonly sessionKey: string;
  /** The token that the change was made for; `undefined` for a new session. */
  readonly expected: string | undefined;
  /** The version found; 0 when the session does not exist. */
  readonly actualVersion: number;

  constructor(details: {
    sessionKey: string;
    expected: string | undefined;
    actualVersion: number;
    cause?: unknown;
  }) {
    const { sessionKey, expected, actualVersion, cause } = details;
    super(
      'session_conflict',
      `Session ${sessionKey} ${whatHappened(expected, actualVersion)}. Nothing was written; load the session again and retry.`,
      { cause, brands: ['SessionConflictError'] },
    );
    this.sessionKey = sessionKey;
    this.expected = expected;
    this.actualVersion = actualVersion;
  }

  static override isInstance(error: unknown): error is SessionConflictError {
    return hasBrand(error, 'SessionConflictError');
  }
}

function whatHappened(expected: string | undefined, actualVersion: number): string {
  if (actualVersion === 0) return 'does not exist any more: it was deleted, or it expired';
  if (expected === undefined) return `exists already, at version ${actualVersion}`;
  return `has been changed by another writer and is at version ${actualVersion}`;
}
