import { hasBrand, XError } from '@x/core';

/** The index could not be opened or used. It holds nothing that the indexed files do not hold. */
export class MemoryIndexError extends XError {
  /** The index's file, as it was given. */
  readonly path: string;

  constructor(path: string, message: string, cause?: unknown) {
    super('memory_index', message, { cause, brands: ['MemoryIndexError'] });
    this.path = path;
  }

  static override isInstance(error: unknown): error is MemoryIndexError {
    return hasBrand(error, 'MemoryIndexError');
  }
}
