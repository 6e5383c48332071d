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

/** A model's answer about the memory cannot be used. Nothing was changed; the same is tried again later. */
export class MemoryRefusedError extends XError {
  readonly operation: 'flush' | 'consolidation';
  /** What is wrong with the answer. */
  readonly reason: string;

  constructor(operation: 'flush' | 'consolidation', reason: string) {
    super(
      'memory_refused',
      `The model's answer to a memory ${operation} was refused twice: ${reason}. Nothing was changed and it is tried ` +
        'again later; use another model for the memory if this goes on.',
      { brands: ['MemoryRefusedError'] },
    );
    this.operation = operation;
    this.reason = reason;
  }

  static override isInstance(error: unknown): error is MemoryRefusedError {
    return hasBrand(error, 'MemoryRefusedError');
  }
}
