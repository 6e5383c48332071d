import { XError } from './x-error.js';

/** Messages for clients when a store fails. */
const STORE_TEXTS: { readonly [code: string]: string } = {
  session_unavailable: 'The conversation cannot be loaded or saved at the moment. Try again later.',
  session_deleted: 'The conversation was deleted.',
  stream_failed: 'The answer was interrupted. Reload the conversation.',
  stream_stalled: 'The answer was interrupted. Reload the conversation.',
};

/**
 * A session store failed. `session_corrupt`: the stored data is damaged. `session_deleted`: the session was deleted while a call ran.
 * `session_older`, `session_newer`: an older or newer release wrote the data. `session_unavailable`: the backend cannot be reached or
 * rejects requests. `session_store_invalid`: a custom store returned an invalid value. `stream_failed`: the source of a recorded stream
 * failed. `stream_stalled`: the writer of a recorded stream died. If loading a session fails with this error, the call must fail. Never
 * begin a new session instead.
 *
 * @code session_corrupt The stored data of this session is damaged. All other sessions work. Do: Delete or repair this session. You can still read its log with `x sessions show`.
 * @code session_deleted The session was deleted while a call ran. Do: Start a new session.
 * @code session_older An older release wrote the data, in a format that this release does not read. Do: Export the sessions with that release (`x sessions export`) and import them here.
 * @code session_newer A newer release wrote the data. Do: Update the `@x` packages of this process.
 * @code session_unavailable The store cannot be reached or rejects requests. Do: See `cause`. If `outcome` is `unknown`, repeat the call with the same `id`.
 * @code session_store_invalid Your custom store returned an invalid value. Do: Correct the method named in the message. Test the store with `sessionStoreSuite`.
 * @code stream_failed The call that wrote a stored stream failed. Do: Reload the conversation.
 * @code stream_stalled The process that wrote a stored stream died. Do: Reload the conversation.
 */
export class SessionStoreError extends XError {
  static override readonly brand = 'SessionStoreError';
  /**
   * Whether anything was written: `none`, or `unknown` if a reply was lost. If it is unknown, send the same commit again, with the same
   * operation. It is applied once.
   */
  readonly outcome: 'none' | 'unknown';
  /** The encoded key, if the failure concerns one session. */
  readonly sessionKey: string | undefined;
  /** The name of the collection, if the failure concerns a record in a collection. */
  declare readonly collection?: string;

  constructor(
    code:
      | 'session_corrupt'
      | 'session_deleted'
      | 'session_older'
      | 'session_newer'
      | 'session_unavailable'
      | 'session_store_invalid'
      | 'stream_failed'
      | 'stream_stalled',
    message: string,
    details: {
      sessionKey?: string | undefined;
      cause?: unknown;
      outcome?: 'none' | 'unknown';
      isTransient?: boolean | undefined;
    } = {},
  ) {
    const { cause, isTransient } = details;
    super(code, message, { cause, isTransient, clientMessage: STORE_TEXTS[code] });
    this.outcome = details.outcome ?? (code === 'session_unavailable' ? 'unknown' : 'none');
    this.sessionKey = details.sessionKey;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(['session_corrupt', 'session_older', 'session_newer']);

/** Tests whether an error says that this release cannot read a session. */
export function isUnreadable(error: unknown): boolean {
  return SessionStoreError.isInstance(error) && UNREADABLE.has(error.code);
}

/** Tests for an outage: the store did not respond, or rejects requests temporarily. Any other rejection is a response. */
export function isOutage(error: unknown): boolean {
  const isStore = SessionStoreError.isInstance(error) && error.code === 'session_unavailable';
  return isStore && (error.outcome === 'unknown' || error.isTransient === true);
}

/**
 * Another writer committed to the session since it was loaded, or deleted it. Nothing was written.
 *
 * @code session_conflict Another writer committed to or deleted the session since it was loaded. Nothing was written. Do: Load the session again and retry, or use `onConflict('merge')`.
 */
export class SessionConflictError extends XError {
  static override readonly brand = 'SessionConflictError';
  /** The session's encoded key. */
  readonly sessionKey: string;
  /** The name of the collection, if the failure concerns a record in a collection. */
  declare readonly collection?: string;
  /** The token that the change expected; `undefined` for a new session. */
  readonly expected: string | undefined;
  /** The version found; 0 if the session does not exist. */
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
      `Session ${sessionKey} ${whatHappened(expected, actualVersion)}. Nothing was written. Load the session again and retry.`,
      { cause, clientMessage: 'The conversation was changed elsewhere. Reload it and try again.' },
    );
    this.sessionKey = sessionKey;
    this.expected = expected;
    this.actualVersion = actualVersion;
  }
}

function whatHappened(expected: string | undefined, actualVersion: number): string {
  if (actualVersion === 0) return 'no longer exists: it was deleted or has expired';
  if (expected === undefined) return `exists already, at version ${actualVersion}`;
  return `has been changed by another writer and is at version ${actualVersion}`;
}

/**
 * The lease on a session could not be acquired (`lease_unavailable`: another call has it) or was lost (`lease_lost`: another process took
 * it over, so a commit was rejected and nothing was written).
 *
 * @code lease_unavailable Another call is running in the session. Do: Call again later, or use `turns('queue')` with a longer `limits.queueMs`.
 * @code lease_lost Another process took over the session's lease. This process wrote nothing after that. Do: Reload the session, and call again with the same `id`.
 */
export class SessionLeaseError extends XError {
  static override readonly brand = 'SessionLeaseError';
  /** The session's encoded key. */
  readonly sessionKey: string;
  /** The name of the collection, if the failure concerns a record in a collection. */
  declare readonly collection?: string;

  constructor(
    code: 'lease_unavailable' | 'lease_lost',
    message: string,
    details: { readonly sessionKey: string; readonly cause?: unknown },
  ) {
    const clientMessage =
      code === 'lease_lost'
        ? 'Another server continued this conversation. Reload it.'
        : 'This conversation is busy. Try again when the current answer has ended.';
    super(code, message, { cause: details.cause, clientMessage });
    this.sessionKey = details.sessionKey;
  }
}

/** Names the collection in a store's error, because the key in the error belongs to a record and not to a session. */
export function namingCollection(error: unknown, collection: string): unknown {
  const about = error as { readonly sessionKey?: string; readonly collection?: string } | null | undefined;
  if (!XError.isInstance(error) || about?.sessionKey === undefined || about.collection !== undefined)
    return error;
  const { message, stack } = error;
  const record = `ecord ${about.sessionKey} of the collection "${collection}"`;
  const named = message
    .replaceAll(`Session ${about.sessionKey}`, () => `R${record}`)
    .replaceAll(`session ${about.sessionKey}`, () => `r${record}`);
  const text = named === message ? `In the collection "${collection}": ${message}` : named;
  return Object.assign(error, { collection, message: text, stack: stack?.replace(message, () => text) });
}
