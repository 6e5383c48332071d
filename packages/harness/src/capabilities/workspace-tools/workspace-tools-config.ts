import * as z from 'zod';

export const workspaceToolsConfigSchema = z.strictObject({
  /** Lines that `read_file` returns unless asked for fewer or more. */
  defaultLines: z.int().min(1).default(400),
  /** Characters that one `read_file` returns at most, also of a single long line. */
  maxReadChars: z.int().min(200).default(20_000),
  /** Entries that `list_files` and `glob_files` return at most. */
  maxEntries: z.int().min(1).default(500),
  /** Matches that `grep_files` returns at most. */
  maxMatches: z.int().min(1).default(200),
  /** Names of directories that listing and searching step over unless the path names them. */
  ignore: z.array(z.string()).default(['node_modules', '.git']),
});

export type WorkspaceToolsConfig = z.input<typeof workspaceToolsConfigSchema>;
export type WorkspaceToolsSettings = z.output<typeof workspaceToolsConfigSchema>;
