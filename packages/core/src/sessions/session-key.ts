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
/** Schema of a {@link SessionScope}. It is strict, because a misspelled part must not match all sessions. */
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

/** A filter that matches sessions whose keys have these parts. */
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
   * @throws {InvalidInputError} when the text is not an encoded key.
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

  /** Returns the key as one ASCII string, `tenant/user/agent/session`. Each part is encoded; an absent part is empty. */
  toString(): string {
    return this.#encoded;
  }

  /** The parts as names that are distinct on any file system; `undefined` for absent parts. */
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

  /** Tests if both keys name the same session. */
  equals(other: SessionKey): boolean {
    return this.#encoded === other.#encoded;
  }

  /**
   * Tests if this session is in `scope`: every part in the scope must be equal.
   *
   * @throws {InvalidInputError} for an unknown or empty part, because a misspelled scope must not match all sessions.
   */
  isWithin(scope: SessionScope = {}): boolean {
    checkScope(scope);
    return PARTS.every((part) => scope[part] === undefined || scope[part] === this.parts[part]);
  }
}

/**
 * Validates a scope. `list` of every store calls it first.
 *
 * @throws {InvalidInputError} for an unknown part, or one that is empty or not a string.
 */
export function checkScope(scope: SessionScope): void {
  parseWith(scopeSchema, scope, 'session scope');
}

/**
 * Returns a valid key unchanged. Plain JavaScript may pass a string such as `'s-001'`, which is not a key.
 *
 * @throws {InvalidInputError} for anything else. The message shows the correct call.
 */
export function checkKey(key: SessionKey, subject = 'session store'): SessionKey {
  // Check the shape, not the class, because the key may come from another copy of this package.
  if (typeof (key as SessionKey | undefined)?.parts === 'object') return key;
  const message = `must be a SessionKey: SessionKey.of('s-001'), or SessionKey.of({ userId, sessionId })`;
  throw new InvalidInputError(subject, [{ path: 'key', message }]);
}
