import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';

/** A class that is used as a typed key. The value must be an instance of it. */
// biome-ignore lint/suspicious/noExplicitAny: a constructor's parameters are contravariant; nothing narrower accepts every class.
export type TypeKey<T extends object> = abstract new (...args: any[]) => T;

const identitySchema = z.strictObject({
  tenantId: z.string().min(1).optional(),
  userId: z.string().min(1).optional(),
  sessionId: z.string().min(1).optional(),
});

/** Identity of a call. Every part is an arbitrary non-empty string. */
export type RuntimeIdentity = {
  readonly [Part in keyof z.infer<typeof identitySchema>]?: string | undefined;
};

/**
 * Identity and values of one call, which tools and capabilities read: a request id, a database handle, a tenant. It exists only during the
 * call and is never persisted.
 *
 * @example
 * ```ts
 * const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-001' });
 * await agent.call('Good morning', context);
 * ```
 */
export class RuntimeContext {
  readonly tenantId: string | undefined;
  readonly userId: string | undefined;
  readonly sessionId: string | undefined;
  readonly #extra: ReadonlyMap<string, unknown>;
  readonly #typed: ReadonlyMap<TypeKey<object>, object>;

  /** Use {@link RuntimeContext.of} or {@link RuntimeContext.builder}. */
  constructor(
    identity: RuntimeIdentity,
    extra: ReadonlyMap<string, unknown> = new Map(),
    typed: ReadonlyMap<TypeKey<object>, object> = new Map(),
  ) {
    const { tenantId, userId, sessionId } = parseWith(identitySchema, identity, 'RuntimeContext');
    this.tenantId = tenantId;
    this.userId = userId;
    this.sessionId = sessionId;
    this.#extra = extra;
    this.#typed = typed;
  }

  /** @throws {InvalidInputError} when a part is empty or not a string. */
  static of(identity: RuntimeIdentity): RuntimeContext {
    return new RuntimeContext(identity);
  }

  /** A context without an identity and without values. */
  static empty(): RuntimeContext {
    return new RuntimeContext({});
  }

  /** Returns a builder that starts empty, or with the values of `source`. */
  static builder(source?: RuntimeContext): RuntimeContextBuilder {
    return new RuntimeContextBuilder(source);
  }

  /** Returns the value of a string key, or the instance of a class; `undefined` if there is none. */
  get<T extends object>(type: TypeKey<T>): T | undefined;
  get(key: string): unknown;
  get(key: string | TypeKey<object>): unknown {
    return typeof key === 'string' ? this.#extra.get(key) : this.#typed.get(key);
  }

  /** Returns all values with string keys. */
  get extra(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#extra);
  }

  /** @internal Values for a builder to copy. */
  entries(): { extra: ReadonlyMap<string, unknown>; typed: ReadonlyMap<TypeKey<object>, object> } {
    return { extra: this.#extra, typed: this.#typed };
  }
}

/** Builds a {@link RuntimeContext}. */
export class RuntimeContextBuilder {
  readonly #identity: { -readonly [Part in keyof RuntimeIdentity]: RuntimeIdentity[Part] };
  readonly #extra: Map<string, unknown>;
  readonly #typed: Map<TypeKey<object>, object>;

  constructor(source: RuntimeContext = RuntimeContext.empty()) {
    const { tenantId, userId, sessionId } = source;
    const { extra, typed } = source.entries();
    this.#identity = { tenantId, userId, sessionId };
    this.#extra = new Map(extra);
    this.#typed = new Map(typed);
  }

  /** Sets the tenant of the call. */
  tenantId(tenantId: string): this {
    this.#identity.tenantId = tenantId;
    return this;
  }

  /** Sets the user of the call. */
  userId(userId: string): this {
    this.#identity.userId = userId;
    return this;
  }

  /** Sets the session of the call. Without it, the call begins a new session. */
  sessionId(sessionId: string): this {
    this.#identity.sessionId = sessionId;
    return this;
  }

  /**
   * Stores a value under a string, or an instance under its class.
   *
   * @throws {InvalidInputError} if the value is not an instance of the class.
   */
  put<T extends object>(type: TypeKey<T>, value: T): this;
  put(key: string, value: unknown): this;
  put(key: string | TypeKey<object>, value: unknown): this {
    if (typeof key === 'string') this.#extra.set(key, value);
    else if (value instanceof key) this.#typed.set(key, value);
    else {
      const message = `is not an instance of ${key.name}; pass an instance, or use a string key`;
      throw new InvalidInputError('RuntimeContext', [{ path: `put(${key.name})`, message }]);
    }
    return this;
  }

  /** @throws {InvalidInputError} when an id is empty or not a string. */
  build(): RuntimeContext {
    return new RuntimeContext(this.#identity, new Map(this.#extra), new Map(this.#typed));
  }
}
