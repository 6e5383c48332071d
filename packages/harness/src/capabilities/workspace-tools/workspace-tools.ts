import { type Capability, parseWith } from '@x/core';
import { z } from 'zod';
import { editFileTool } from './edit-file.js';
import { globFilesTool } from './glob-files.js';
import { grepFilesTool } from './grep-files.js';
import { listFilesTool } from './list-files.js';
import { readFileTool } from './read-file.js';
import { writeFileTool } from './write-file.js';

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

/**
 * `read_file`, `write_file`, `edit_file`, `list_files`, `glob_files` and `grep_files`, confined to the workspace. What
 * they return is bounded and can be paged, so that a large file never blows the window.
 *
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function workspaceTools(config: WorkspaceToolsConfig = {}): Capability {
  const settings = parseWith(workspaceToolsConfigSchema, config, 'workspaceTools configuration');
  return {
    name: 'workspace_tools',
    tools: [
      readFileTool(settings),
      writeFileTool(),
      editFileTool(),
      listFilesTool(settings),
      globFilesTool(settings),
      grepFilesTool(settings),
    ],
  };
}
