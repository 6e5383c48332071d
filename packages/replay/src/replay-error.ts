import { XError } from '@x/core';

/** `unknown_format`: no importer recognizes the log. `empty_conversation`: the log has no message, or no model answer. */
export type ReplayErrorCode = 'unknown_format' | 'empty_conversation';

/**
 * A recording that cannot be replayed.
 *
 * @code unknown_format No importer recognizes the log. Do: Set `format`; see [what it reads](../replay.md#what-it-reads).
 * @code empty_conversation The log has no message, or no model answer. Do: Check that this is the right file, and the right `format`.
 */
export class ReplayError extends XError {
  static override readonly brand = 'ReplayError';
  declare readonly code: ReplayErrorCode;

  constructor(code: ReplayErrorCode, message: string) {
    super(code, message, { clientMessage: message });
  }
}
