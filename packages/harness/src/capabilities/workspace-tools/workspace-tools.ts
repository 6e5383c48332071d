import type { Capability } from '@x/core';
import { parseWith } from '@x/core/internal';
import { readFileTool } from './read-file.js';
import { globFilesTool, grepFilesTool, listFilesTool } from './search-files.js';
import { type WorkspaceToolsConfig, workspaceToolsConfigSchema } from './workspace-tools-config.js';
import { editFileTool, writeFileTool } from './write-file.js';

/**
 * Adds `read_file`, `write_file`, `edit_file`, `list_files`, `glob_files` and `grep_files`, confined to the workspace.
 * Their results are bounded and paged, so a large file never fills the context window.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().workspace('./workspace').use(workspaceTools());
 * ```
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
