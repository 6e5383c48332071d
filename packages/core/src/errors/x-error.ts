const BRANDS = Symbol.for('@x/error');

/** Options of an {@link XError}. */
export interface XErrorOptions {
  readonly cause?: unknown;
  /** Message for clients. Default: clients see only the code of the error. */
  readonly clientMessage?: string | undefined;
  /** Whether the same request may succeed soon. Default: no. */
  readonly isTransient?: boolean | undefined;
}

/**
 * The base class of every error that an `@x` package throws on purpose. `code` is stable and meant for programs. `message` says what failed
 * and what to do.
 */
export class XError extends Error {
  /** Identifies the class for `isInstance`, even after minification and across copies of the package. Default: the name of the class. */
  static readonly brand: string = 'XError';
  readonly code: string;
  /**
   * Message for clients: one sentence without keys, paths and addresses. If it is missing, clients read only that an error
   * occurred: see `toClientError`.
   */
  declare readonly clientMessage?: string;
  /** Set if the same request may succeed soon, for example after a failover. Then running calls retry their commits and writes to the log. */
  declare readonly isTransient?: boolean;
  /** The brands of the class and its ancestors. */
  readonly [BRANDS]: readonly string[];

  constructor(code: string, message: string, { cause, clientMessage, isTransient }: XErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = brandOf(new.target);
    this.code = code;
    if (clientMessage !== undefined) this.clientMessage = clientMessage;
    if (isTransient) this.isTransient = isTransient;
    this[BRANDS] = brandsOf(new.target);
  }

  /** Tests if `error` is an instance of this class, also from another copy of the package. `instanceof` knows only one copy. */
  static isInstance<Made extends XError>(this: ErrorClass<Made>, error: unknown): error is Made {
    try {
      const brands = (error as { readonly [BRANDS]?: unknown } | null | undefined)?.[BRANDS];
      return Array.isArray(brands) && brands.includes(brandOf(this));
    } catch {
      // A proxy may throw on any access.
      return false;
    }
  }
}

interface ErrorClass<Made = XError> {
  readonly prototype: Made;
  readonly brand: string;
  readonly name: string;
}

function brandOf(type: ErrorClass): string {
  return Object.hasOwn(type, 'brand') ? type.brand : type.name;
}

function brandsOf(type: ErrorClass): readonly string[] {
  return type === XError ? [brandOf(type)] : [brandOf(type), ...brandsOf(Object.getPrototypeOf(type))];
}
