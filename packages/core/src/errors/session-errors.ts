import { XError } from './x-error.js';

/** What clients read when a store fails. */
const STORE_TEXTS: { readonly [code: string]: string } = {
  session_unavailable: 'The conversation cannot be loaded or saved at the moment. Try again later.',
  session_deleted: 'The conversation was deleted.',
  stream_failed: 'The answer broke off. Reload the conversation.',
  stream_stalled: 'The answer broke off. Reload the conversation.',
};

/**
 * A session store failed: the stored data is damaged (`session_corrupt`), was deleted while a run went on (`session_deleted`) or has the format of an older or newer release
 * (`session_older`, `session_newer`), its backend is out of reach or refuses (`session_unavailable`), or it answers what no
 * store may (`session_store_invalid`). If a load fails this way, the call must fail: it never means "new session". For a stream
 * that is kept in a store: its source failed (`stream_failed`), or its writer died (`stream_stalled`).
 *
 * @code session_corrupt The stored data of this session is damaged. Do: Delete or repair this session; all others work. Its log can still be read: `x sessions show`.
 * @code session_deleted The session was deleted while a call ran. Do: Start a new session.
 * @code session_older An older release wrote the data, in a format that this release does not read. Do: Export the sessions with that release (`x sessions export`), and import them here.
 * @code session_newer A newer release wrote the data. Do: Update this process.
 * @code session_unavailable The store cannot be reached, or refuses. Do: See `cause`. With `outcome` `unknown`, repeat the call with its `id`.
 * @code session_store_invalid A store of your own returned what no store may return. Do: Correct the method that the message names; `sessionStoreSuite` tests a store.
 * @code stream_failed The source of a stored stream failed. Do: Reload the conversation.
 * @code stream_stalled The writer of a stored stream died. Do: Reload the conversation.
 */
export class SessionStoreError extends XError {
  static override readonly brand = 'SessionStoreError';
  /**
   * Whether anything was written: `none`, or `unknown` where a reply was lost. A commit with an unknown outcome is sent
   * again as it is, with its operation; it is applied once.
   */
  readonly outcome: 'none' | 'unknown';
  /** The session's key, encoded, where the failure concerns one session. */
  readonly sessionKey: string | undefined;
  /** The name of the collection, where the failure concerns a record of one. */
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
    details: { sessionKey?: string | undefined; cause?: unknown; outcome?: 'none' | 'unknown' } = {},
  ) {
    super(code, message, { cause: details.cause, clientMessage: STORE_TEXTS[code] });
    this.outcome = details.outcome ?? (code === 'session_unavailable' ? 'unknown' : 'none');
    this.sessionKey = details.sessionKey;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(['session_corrupt', 'session_older', 'session_newer']);

/** Tests whether a store says of a session that this release cannot read it. */
export function isUnreadable(error: unknown): boolean {
  return SessionStoreError.isInstance(error) && UNREADABLE.has(error.code);
}

/**
 * Someone else committed to the session since it was loaded, or deleted it. Nothing was written.
 *
 * @code session_conflict Another writer committed, or deleted the session, since it was loaded. Nothing was written. Do: Load the session again and retry, or use `onConflict('merge')`.
 */
export class SessionConflictError extends XError {
  static override readonly brand = 'SessionConflictError';
  /** The session's key, encoded. */
  readonly sessionKey: string;
  /** The name of the collection, where the failure concerns a record of one. */
  declare readonly collection?: string;
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
      { cause, clientMessage: 'The conversation was changed elsewhere. Reload it and try again.' },
    );
    this.sessionKey = sessionKey;
    this.expected = expected;
    this.actualVersion = actualVersion;
  }
}

function whatHappened(expected: string | undefined, actualVersion: number): string {
  if (actualVersion === 0) return 'does not exist any more: it was deleted, or it expired';
  if (expected === undefined) return `exists already, at version ${actualVersion}`;
  return `has been changed by another writer and is at version ${actualVersion}`;
}

/**
 * The right to run a session's turns could not be had (`lease_unavailable`: another process has it) or is gone
 * (`lease_lost`: it expired and someone else took it, so that a commit under it was refused; nothing was written).
 *
 * @code lease_unavailable Another call has the session’s turn. Do: Call again later, or use `turns('queue')` with a longer `limits.queueMs`.
 * @code lease_lost Another process took the turn over. Nothing was written since. Do: Reload the session, and call again with the same `id`.
 */
export class SessionLeaseError extends XError {
  static override readonly brand = 'SessionLeaseError';
  /** The session's key, encoded. */
  readonly sessionKey: string;
  /** The name of the collection, where the failure concerns a record of one. */
  declare readonly collection?: string;

  constructor(
    code: 'lease_unavailable' | 'lease_lost',
    message: string,
    details: { readonly sessionKey: string; readonly cause?: unknown },
  ) {
    const clientMessage =
      code === 'lease_lost'
        ? 'Another server went on with this conversation. Reload it.'
        : 'This conversation is busy. Try again when the present answer has ended.';
    super(code, message, { cause: details.cause, clientMessage });
    this.sessionKey = details.sessionKey;
  }
}

/** Names the collection in an error of a store: the key is not that of a session. */
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
