import {
  type AgentState,
  type Capability,
  headOf,
  type Message,
  parseWith,
  pathSegments,
  readText,
  type Workspace,
} from '@x/core';
import * as z from 'zod';

const NAME = 'agents_files';

export const agentsFilesConfigSchema = z.strictObject({
  /** Names of the files. */
  fileName: z.string().min(1).default('AGENTS.md'),
  /** Arguments of tools that name a file or a folder. */
  pathArguments: z.array(z.string().min(1)).default(['path', 'file_path', 'filePath']),
  /** Characters of one file that the model is given. */
  maxChars: z.int().min(1).default(8_000),
});

export type AgentsFilesConfig = z.input<typeof agentsFilesConfigSchema>;

/** A place where a file was shown: the result of a call. `seen` once a view had it. */
interface Showing {
  readonly toolUseId: string;
  readonly seen?: boolean;
}

/**
 * Shows AGENTS.md files below the root of the workspace. When a tool touches a file, the AGENTS.md of each folder above it is
 * added to the tool's result, the outermost first, each once. After a compaction removed one from view, the next touch below
 * its folder adds it again. Leaves out the file in the root, which belongs into the system prompt.
 *
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function agentsFiles(config: AgentsFilesConfig = {}): Capability {
  const { fileName, pathArguments, maxChars } = parseWith(
    agentsFilesConfigSchema,
    config,
    'agentsFiles configuration',
  );
  return {
    name: NAME,
    async aroundTool(call, { state, workspace }, next) {
      const result = await next(call);
      if (result.isError) return result;
      const shown = showingsIn(state);
      const wanted = foldersOf(call.input, pathArguments)
        .map((folder) => `${folder}/${fileName}`)
        .filter((path) => shown[path] === undefined);
      const found: string[] = [];
      for (const path of wanted) {
        // Noted before it is read: another call of this step may ask for the same.
        if (showingsIn(state)[path] !== undefined) continue;
        show(state, path, call.id);
        const text = await textOfFile(workspace, path, maxChars);
        if (text === undefined) hide(state, path);
        else found.push(`${opening(path)}\n${text}\n</agents_file>`);
      }
      if (found.length === 0) return result;
      return {
        ...result,
        output: [...result.output, ...found.map((text) => ({ type: 'text' as const, text }))],
      };
    },
    aroundModel: (request, { state }, next) => {
      lookAt(state, request.messages);
      return next(request);
    },
  };
}

/** Lists the folders from below the root down to the path of a call. The last may be a file, which has no AGENTS.md. */
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
    // The tool made something of it that is no path of the workspace.
    return [];
  }
}

async function textOfFile(workspace: Workspace, path: string, maxChars: number): Promise<string | undefined> {
  try {
    const text = (await readText(workspace, path)).trim();
    if (text === '') return undefined;
    return text.length <= maxChars
      ? text
      : `${headOf(text, maxChars)}\n[cut here; ${path} has ${text.length} characters]`;
  } catch {
    return undefined;
  }
}

/** Forgets what was in view and is no longer, so that it is shown again. */
function lookAt(state: AgentState, messages: readonly Message[]): void {
  const showings = Object.entries(showingsIn(state));
  if (showings.length === 0) return;
  const inView = partsOf(messages, new Set(showings.map(([, { toolUseId }]) => toolUseId)));
  for (const [path, { toolUseId, seen }] of showings) {
    const isThere = inView.get(toolUseId)?.some((text) => text.startsWith(opening(path))) ?? false;
    if (isThere && seen !== true) show(state, path, toolUseId, true);
    if (!isThere && seen === true) hide(state, path);
  }
}

/** The texts of these results, by call. */
function partsOf(
  messages: readonly Message[],
  toolUseIds: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const { role, content } of messages) {
    if (role !== 'tool') continue;
    for (const block of content) {
      if (block.type !== 'tool_result' || !toolUseIds.has(block.toolUseId)) continue;
      found.set(
        block.toolUseId,
        block.output.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
      );
    }
  }
  return found;
}

function opening(path: string): string {
  return `<agents_file path=${JSON.stringify(path)}>`;
}

/** Reads the stored state. Its form is trusted: only this module writes it. */
function showingsIn(state: AgentState): Readonly<Record<string, Showing>> {
  return (state.extensions[NAME]?.shown ?? {}) as unknown as Readonly<Record<string, Showing>>;
}

function show(state: AgentState, path: string, toolUseId: string, seen?: true): void {
  const showing = { toolUseId, ...(seen ? { seen } : {}) };
  state.extensions[NAME] = { shown: { ...showingsIn(state), [path]: showing } as never };
}

function hide(state: AgentState, path: string): void {
  const { [path]: _, ...rest } = showingsIn(state);
  state.extensions[NAME] = { shown: rest as never };
}
