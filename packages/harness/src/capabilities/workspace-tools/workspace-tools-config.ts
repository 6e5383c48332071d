import * as z from 'zod';

/** Maximum size of a file that is searched or edited. The tools process it as a whole, and larger ones would block the event loop. */
export const MAX_FILE_BYTES = 10_000_000;

export const workspaceToolsConfigSchema = z.strictObject({
  /** Default number of lines that `read_file` returns. */
  defaultLines: z.int().min(1).default(400),
  /** Maximum number of characters that one `read_file` returns, even of a single long line. */
  maxReadChars: z.int().min(200).default(20_000),
  /** Maximum number of entries that `list_files` and `glob_files` return. */
  maxEntries: z.int().min(1).default(500),
  /** Maximum number of matches that `grep_files` returns. */
  maxMatches: z.int().min(1).default(200),
  /** Names of directories that listing and searching skip, unless the path names them. */
  ignore: z.array(z.string()).default(['node_modules', '.git']),
});

export type WorkspaceToolsConfig = z.input<typeof workspaceToolsConfigSchema>;
export type WorkspaceToolsSettings = z.output<typeof workspaceToolsConfigSchema>;
