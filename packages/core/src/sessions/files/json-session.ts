import * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { LocalWorkspace } from '../../workspace/local-workspace.js';
import { WorkspaceSession } from './workspace-session.js';

const optionsSchema = z.strictObject({ directory: z.string().min(1), lockTimeoutMs: z.number().optional() });

/**
 * Stores sessions as JSON files in a separate directory, which only the user of this process can read (files 0600, folders 0700).
 * The files and their guarantees are those of {@link WorkspaceSession}.
 *
 * @example
 * ```ts
 * const store = new JsonSession({ directory: './sessions' });
 * ```
 */
export class JsonSession extends WorkspaceSession {
  /**
   * @param options `directory`: created at the first write. `lockTimeoutMs`: milliseconds that a commit waits for another commit to
   * the same session; default 10 000.
   * @throws {InvalidInputError} for unknown or invalid options.
   */
  constructor(options: Readonly<z.input<typeof optionsSchema>>) {
    const { directory, ...rest } = parseWith(optionsSchema, options, 'JsonSession options');
    super(new LocalWorkspace(directory, { private: true }), rest);
  }
}
