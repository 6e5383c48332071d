import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import { decodeSegment, encodeSegment, fileSegment } from '../lib/encode-segment.js';

const part = z.string().min(1);
const partsSchema = z.strictObject({
  tenantId: part.optional(),
  userId: part.optional(),
  agentId: part.optional(),
  sessionId: part,
});
/** Of a {@link SessionScope}: a misspelled part must not mean all sessions. */
export const scopeSchema = partsSchema.partial();

/**
 * Parts of a session's identity. Each is any non-empty string; an absent part differs from every string.
 */
export interface SessionKeyParts {
  readonly tenantId?: string | undefined;
  readonly userId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly sessionId: string;
}

/** A filter for sessions: all whose keys have these parts. */
export type SessionScope = { readonly [Part in keyof SessionKeyParts]?: string | undefined };

const PARTS = ['tenantId', 'userId', 'agentId', 'sessionId'] as const;

/**
 * The identity of a session. Stores treat it as opaque: they use {@link SessionKey.toString} (injective, decodable) or
 * {@link SessionKey.path} (names for a file system).
 *
 * @example
 * ```ts
 * const key = SessionKey.of({ userId: 'alice', sessionId: 's-001' });
 * ```
 */
export class SessionKey {
  readonly parts: SessionKeyParts;
  readonly #encoded: string;

  /** Use {@link SessionKey.of}. */
  constructor(parts: SessionKeyParts) {
    this.parts = Object.freeze({ ...parts });
    this.#encoded = PARTS.map((part) => encodeSegment(parts[part] ?? '')).join('/');
  }

  /** @throws {InvalidInputError} when a part is empty or not a string. */
  static of(session: string | SessionKeyParts): SessionKey {
    const parts = typeof session === 'string' ? { sessionId: session } : session;
    return new SessionKey(parseWith(partsSchema, parts, 'SessionKey') as SessionKeyParts);
  }

  /**
   * The inverse of {@link SessionKey.toString}.
   *
   * @throws {InvalidInputError} when the text is no encoded key.
   */
  static parse(encoded: string): SessionKey {
    const segments = encoded.split('/');
    const [tenantId, userId, agentId, sessionId] = segments.map((segment) =>
      segment === '' ? undefined : decodeSegment(segment),
    );
    const refused = (message: string) => new InvalidInputError('SessionKey', [{ path: '', message }]);
    if (segments.length !== PARTS.length || sessionId === undefined)
      throw refused(`"${encoded}" is not an encoded key`);
    const key = new SessionKey({ tenantId, userId, agentId, sessionId });
    if (key.#encoded !== encoded) throw refused(`"${encoded}" is not in canonical form`);
    return key;
  }

  /** The key as one ASCII string, `tenant/user/agent/session`, each part encoded, an absent one empty. */
  toString(): string {
    return this.#encoded;
  }

  /** The parts as names that any file system keeps apart; `undefined` where a part is absent. */
  get path(): { readonly [Part in keyof SessionKeyParts]-?: string | undefined } & {
    readonly sessionId: string;
  } {
    const { tenantId, userId, agentId, sessionId } = this.parts;
    const segment = (part: string | undefined) => (part === undefined ? undefined : fileSegment(part));
    return {
      tenantId: segment(tenantId),
      userId: segment(userId),
      agentId: segment(agentId),
      sessionId: fileSegment(sessionId),
    };
  }

  /** Tests whether both name the same session. */
  equals(other: SessionKey): boolean {
    return this.#encoded === other.#encoded;
  }

  /**
   * Tests whether this session is in `scope`: every part that the scope names is the same.
   *
   * @throws {InvalidInputError} for an unknown or empty part: a misspelled scope must not mean all sessions.
   */
  isWithin(scope: SessionScope = {}): boolean {
    checkScope(scope);
    return PARTS.every((part) => scope[part] === undefined || scope[part] === this.parts[part]);
  }
}

/**
 * Checks a scope, as `list` of every store does first.
 *
 * @throws {InvalidInputError} for an unknown part, or one that is empty or not a string.
 */
export function checkScope(scope: SessionScope): void {
  parseWith(scopeSchema, scope, 'session scope');
}

/**
 * Returns what is a key as it is: from plain JavaScript, `'s-001'` would be the key of no session.
 *
 * @throws {InvalidInputError} for anything else, with what to write instead.
 */
export function checkKey(key: SessionKey, subject = 'session store'): SessionKey {
  // By its shape: it may come from another copy of this package.
  if (typeof (key as SessionKey | undefined)?.parts === 'object') return key;
  const message = `must be a SessionKey: SessionKey.of('s-001'), or of { userId, sessionId }`;
  throw new InvalidInputError(subject, [{ path: 'key', message }]);
}
