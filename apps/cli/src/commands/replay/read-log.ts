import { importConversation, type RecordedConversation, ReplayError } from '@x/replay';
import { UsageError } from '../../command.js';
import { readInput } from '../../read-input.js';

/**
 * Reads a log of any agent. If the log has no id, the path is its id.
 *
 * @throws {UsageError} for a file that cannot be read, or is not a log.
 */
export async function readLog(
  path: string,
  format: string | undefined,
): Promise<RecordedConversation & { readonly id: string }> {
  const conversation = await readLogWith(importConversation, path, format);
  return { ...conversation, id: conversation.id ?? path };
}

/**
 * Reads a log with a function of `@x/replay`.
 *
 * @throws {UsageError} for a file that cannot be read, or is not a log.
 */
export async function readLogWith<Read>(
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
