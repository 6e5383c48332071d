import { XError } from '@x/core';

/** `unknown_format`: no importer knows the text. `empty_conversation`: nothing was said in it. */
export type ReplayErrorCode = 'unknown_format' | 'empty_conversation';

/** A recording that cannot be replayed. */
export class ReplayError extends XError {
  static override readonly brand = 'ReplayError';
  declare readonly code: ReplayErrorCode;

  constructor(code: ReplayErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, { ...options, clientMessage: message });
  }
}
