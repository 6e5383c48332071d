const BRAND = Symbol.for('@x/error');

/**
 * The base of every error that an `@x` package throws on purpose.
 *
 * `code` is stable and meant for programs; `message` says what happened and what to do about it.
 * `isInstance` recognizes errors across two installed copies of `@x/core`, where `instanceof` would not.
 */
export class XError extends Error {
  readonly code: string;
  /** Marks the error and its ancestors by name, so that `isInstance` holds across copies of the package. */
  readonly [BRAND]: readonly string[];

  constructor(code: string, message: string, options: { cause?: unknown; brands?: readonly string[] } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this[BRAND] = ['XError', ...(options.brands ?? [])];
  }

  static isInstance(error: unknown): error is XError {
    return hasBrand(error, 'XError');
  }
}

/** Tests whether the class of that name made `error`, in this or another copy of the package. */
export function hasBrand(error: unknown, brand: string): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const brands = (error as { [BRAND]?: unknown })[BRAND];
  return Array.isArray(brands) && brands.includes(brand);
}
