import {
  type AgentState,
  type Capability,
  type Message,
  type ToolOutputBlock,
  toolResultsOf,
  type Workspace,
} from '@x/core';
import { escapeTags, headOf, keepingKinds, parseWith } from '@x/core/internal';
import { pathSegments } from '@x/core/store';
import * as z from 'zod';

export const agentsFilesConfigSchema = z.strictObject({
  /** Name of the files. */
  fileName: z.string().min(1).default('AGENTS.md'),
  /** Names of tool arguments that contain a file or folder path. */
  pathArguments: z.array(z.string().min(1)).default(['path', 'file_path', 'filePath']),
  /** Maximum number of characters of one file that the model receives. */
  maxChars: z.int().min(1).default(8_000),
});

export type AgentsFilesConfig = z.input<typeof agentsFilesConfigSchema>;

/**
 * Shows the model the AGENTS.md files below the root of the workspace. When a tool touches a file, its result also
 * contains the AGENTS.md of each parent folder, outermost first and each only once. If compaction removes one, the next
 * call below its folder adds it again. A symbolic link must lead to a file with the same extension. The file in the
 * root is left out, because it belongs in the system prompt.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(workspaceTools(), agentsFiles());
 * ```
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function agentsFiles(config: AgentsFilesConfig = {}): Capability {
  const { fileName, pathArguments, maxChars } = parseWith(
    agentsFilesConfigSchema,
    config,
    'agentsFiles configuration',
  );
  /** Files that running calls add to their results, until the conversation contains these results. */
  const adding = new WeakMap<AgentState, { readonly length: number; readonly paths: Set<string> }>();
  return {
    name: 'agents_files',
    async aroundTool(call, { state, workspace }, next) {
      const result = await next(call);
      if (result.isError) return result;
      const folders = foldersOf(call.input, pathArguments);
      const { length } = state.context;
      const known = adding.get(state);
      const { paths } = known?.length === length ? known : { paths: new Set<string>() };
      adding.set(state, { length, paths });
      const found: ToolOutputBlock[] = [];
      for (const path of folders.map((folder) => `${folder}/${fileName}`)) {
        if (paths.has(path)) continue;
        paths.add(path);
        const content = await textOfFile(workspace, path, maxChars);
        const text = `<${TAG} path=${escapeTags(JSON.stringify(path), TAG)}>\n${content}\n</${TAG}>`;
        if (content !== undefined && !isShown(state.context, text)) found.push({ type: 'text', text });
      }
      return found.length === 0 ? result : { ...result, output: [...result.output, ...found] };
    },
  };
}

/**
 * Lists the folders from below the root down to the path of a call. The last entry may be a file, which has no
 * AGENTS.md.
 */
function foldersOf(input: unknown, names: readonly string[]): readonly string[] {
  if (typeof input !== 'object' || input === null) return [];
  const path = names
    .map((name) => (input as Record<string, unknown>)[name])
    .find((value) => typeof value === 'string');
  if (typeof path !== 'string') return [];
  try {
    const segments = pathSegments(path);
    return segments.map((_, index) => segments.slice(0, index + 1).join('/'));
  } catch {
    // The argument is not a valid workspace path, so the tool uses it in another way.
    return [];
  }
}

async function textOfFile(workspace: Workspace, path: string, maxChars: number): Promise<string | undefined> {
  try {
    // A UTF-16 unit takes at most three bytes in UTF-8, and the last character may be cut.
    const bytes = await keepingKinds(workspace).read(path, { length: 3 * maxChars + 3 });
    const text = new TextDecoder().decode(bytes).trim();
    if (text === '') return undefined;
    // Escape the tags, so that the content cannot end its own block or begin another one.
    const shown = escapeTags(headOf(text, maxChars), TAG);
    return text.length <= maxChars ? shown : `${shown}\n[cut here; ${path} has more]`;
  } catch {
    return undefined;
  }
}

const TAG = 'agents_file';

/** Tests if the context contains exactly this text. A result of another tool may begin with the same text. */
function isShown(context: readonly Message[], text: string): boolean {
  return context.some((message) =>
    toolResultsOf(message).some(({ output }) =>
      output.some((part) => part.type === 'text' && part.text === text),
    ),
  );
}
