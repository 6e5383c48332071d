import { ReplayError } from '@x/replay';
import { UsageError } from '../../command.js';

/**
 * Reads the log of an agent with a function of `@x/replay`.
 *
 * @throws {UsageError} if it is not a log.
 */
export function readLog<Read>(
  read: (source: string, options: { readonly format?: string }) => Read,
  source: string,
  path: string,
  format: string | undefined,
): Read {
  try {
    return read(source, format === undefined ? {} : { format });
  } catch (error) {
    if (ReplayError.isInstance(error)) throw new UsageError(`${path}: ${error.message}`);
    throw error;
  }
}
