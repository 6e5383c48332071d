import { hasBrand, XError } from '@x/core';

const BRAND = 'ReplayError';

/** `unknown_format`: no importer knows the text. `empty_conversation`: nothing was said in it. */
export type ReplayErrorCode = 'unknown_format' | 'empty_conversation';

/** A recording that cannot be replayed. */
export class ReplayError extends XError {
  declare readonly code: ReplayErrorCode;

  constructor(code: ReplayErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, { ...options, brands: [BRAND] });
  }

  static override isInstance(error: unknown): error is ReplayError {
    return hasBrand(error, BRAND);
  }
}
