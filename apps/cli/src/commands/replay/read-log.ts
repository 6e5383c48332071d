import { ReplayError } from '@x/replay';
import { UsageError } from '../../command.js';
import { readInput } from '../../read-input.js';

/**
 * Reads the log of an agent with a function of `@x/replay`.
 *
 * @throws {UsageError} for a file that cannot be read, or is not a log.
 */
export async function readLog<Read>(
  read: (source: string, options: { readonly format?: string }) => Read,
  path: string,
  format: string | undefined,
): Promise<Read> {
  const source = await readInput(path);
  try {
    return read(source, format === undefined ? {} : { format });
  } catch (error) {
    if (ReplayError.isInstance(error)) throw new UsageError(`${path}: ${error.message}`);
    throw error;
  }
}
