const BRANDS = Symbol.for('@x/error');

/**
 * The base of every error that an `@x` package throws on purpose. `code` is stable and meant for programs. `message` says
 * what happened and what to do about it.
 */
export class XError extends Error {
  /** The name of the class where bundlers shorten names and two copies of the package meet. Default: the class's own name. */
  static readonly brand: string = 'XError';
  readonly code: string;
  /** The brands of the class and its ancestors. */
  readonly [BRANDS]: readonly string[];

  constructor(code: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : options);
    this.name = brandOf(new.target);
    this.code = code;
    this[BRANDS] = brandsOf(new.target);
  }

  /** Tests whether this class, of this or another copy of the package, made `error`: `instanceof` knows one copy. */
  static isInstance<Made extends XError>(this: ErrorClass<Made>, error: unknown): error is Made {
    const brands = (error as { readonly [BRANDS]?: unknown } | null | undefined)?.[BRANDS];
    return Array.isArray(brands) && brands.includes(brandOf(this));
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
