const BRANDS = Symbol.for('@x/error');

export interface XErrorOptions {
  readonly cause?: unknown;
  /** What a client may read. Default: nothing of the error but its code. */
  readonly clientMessage?: string | undefined;
}

/**
 * The base of every error that an `@x` package throws on purpose. `code` is stable and meant for programs. `message` says
 * what happened and what to do about it.
 */
export class XError extends Error {
  /** The name of the class where bundlers shorten names and two copies of the package meet. Default: the class's own name. */
  static readonly brand: string = 'XError';
  readonly code: string;
  /**
   * What a client may read of the error: one sentence without keys, paths and addresses. Left out, clients read that an error
   * occurred: see `toClientError`.
   */
  declare readonly clientMessage?: string;
  /** The brands of the class and its ancestors. */
  readonly [BRANDS]: readonly string[];

  constructor(code: string, message: string, { cause, clientMessage }: XErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = brandOf(new.target);
    this.code = code;
    if (clientMessage !== undefined) this.clientMessage = clientMessage;
    this[BRANDS] = brandsOf(new.target);
  }

  /** Tests whether this class, of this or another copy of the package, made `error`: `instanceof` knows one copy. */
  static isInstance<Made extends XError>(this: ErrorClass<Made>, error: unknown): error is Made {
    try {
      const brands = (error as { readonly [BRANDS]?: unknown } | null | undefined)?.[BRANDS];
      return Array.isArray(brands) && brands.includes(brandOf(this));
    } catch {
      // A proxy may throw whatever is asked of it.
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
