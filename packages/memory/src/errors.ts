import { XError } from '@x/core';

/**
 * The full-text index could not be opened or used. No facts are lost: the index is rebuilt from the memory files.
 *
 * @code memory_index The full-text index cannot be opened or used. Do: Delete its file. The index is then rebuilt from the memory files.
 */
export class MemoryIndexError extends XError {
  static override readonly brand = 'MemoryIndexError';
  /** The path of the index's file. */
  readonly path: string;

  constructor(path: string, message: string, cause?: unknown) {
    super('memory_index', message, { cause });
    this.path = path;
  }
}

/**
 * A newer release wrote a file of the memory. Nothing was read or changed.
 *
 * @code memory_newer A newer release wrote the file. Nothing was read or changed. Do: Update `@x/memory`.
 */
export class MemoryFormatError extends XError {
  static override readonly brand = 'MemoryFormatError';
  /** The file, as a path in the storage. */
  readonly path: string;

  constructor(path: string, found: number, known: number) {
    const message = `${path} has format ${found}, but this release reads and writes format ${known}. Update @x/memory to read it.`;
    super('memory_newer', message);
    this.path = path;
  }
}
