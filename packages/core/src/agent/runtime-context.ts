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

/** Values by their string, or by the class of which they are instances. */
type Values = ReadonlyMap<string | TypeKey<object>, unknown>;

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
  readonly #values: Values;

  /** Use {@link RuntimeContext.of} or {@link RuntimeContext.builder}. */
  constructor(identity: RuntimeIdentity, values: Values = new Map()) {
    const { tenantId, userId, sessionId } = parseWith(identitySchema, identity, 'RuntimeContext');
    this.tenantId = tenantId;
    this.userId = userId;
    this.sessionId = sessionId;
    this.#values = values;
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
    return this.#values.get(key);
  }

  /** Returns all values with string keys. */
  get extra(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#values].filter(([key]) => typeof key === 'string'));
  }

  /** @internal Values for a builder to copy. */
  entries(): Values {
    return this.#values;
  }
}

/** Builds a {@link RuntimeContext}. */
export class RuntimeContextBuilder {
  readonly #identity: { -readonly [Part in keyof RuntimeIdentity]: RuntimeIdentity[Part] };
  readonly #values: Map<string | TypeKey<object>, unknown>;

  constructor(source: RuntimeContext = RuntimeContext.empty()) {
    const { tenantId, userId, sessionId } = source;
    this.#identity = { tenantId, userId, sessionId };
    this.#values = new Map(source.entries());
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
    if (typeof key !== 'string' && !(value instanceof key)) {
      const message = `is not an instance of ${key.name}; pass an instance, or use a string key`;
      throw new InvalidInputError('RuntimeContext', [{ path: `put(${key.name})`, message }]);
    }
    this.#values.set(key, value);
    return this;
  }

  /** @throws {InvalidInputError} when an id is empty or not a string. */
  build(): RuntimeContext {
    return new RuntimeContext(this.#identity, new Map(this.#values));
  }
}
