import { readText, type Workspace } from '@x/core';
import { parseFrontMatter } from '../../lib/front-matter.js';
import { parseSubagent, type Subagent } from './subagent-definition.js';

/** What a folder of subagents holds, and what is wrong with the rest of it. */
export interface LoadedSubagents {
  readonly subagents: readonly Subagent[];
  readonly problems: readonly string[];
}

/** Definitions longer than this are not read: they would be system prompts that no window holds. */
const MAX_BYTES = 100_000;

/** Reads every `*.md` of a folder; a file that is no subagent becomes a problem, and harms no other. */
export async function loadSubagents(workspace: Workspace, folder: string): Promise<LoadedSubagents> {
  const subagents = new Map<string, Subagent>();
  const problems: string[] = [];
  for await (const entry of workspace.list(folder)) {
    if (entry.type !== 'file' || !entry.path.endsWith('.md')) continue;
    try {
      if (entry.size > MAX_BYTES) throw new Error(`has ${entry.size} bytes; ${MAX_BYTES} are allowed`);
      const subagent = parseSubagentFile(await readText(workspace, entry.path), entry.path);
      if (subagents.has(subagent.name)) throw new Error(`a file before it is named "${subagent.name}" too`);
      subagents.set(subagent.name, subagent);
    } catch (error) {
      problems.push(`${entry.path}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { subagents: [...subagents.values()], problems };
}

/**
 * A subagent from Markdown: front matter, then its system prompt. Its keys are those of the ecosystem, in snake_case;
 * `tools` may be a list or words with commas between them.
 *
 * @throws {InvalidInputError} naming every bad field.
 */
function parseSubagentFile(text: string, path: string): Subagent {
  const { data, body } = parseFrontMatter(text, path);
  const { tools, max_iterations, max_output_tokens, name, ...rest } = data;
  const stem = path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/, '');
  return parseSubagent(
    {
      ...rest,
      name: name ?? stem,
      systemPrompt: body,
      ...(tools === undefined ? {} : { tools: typeof tools === 'string' ? splitNames(tools) : tools }),
      ...(max_iterations === undefined ? {} : { maxIterations: max_iterations }),
      ...(max_output_tokens === undefined ? {} : { maxOutputTokens: max_output_tokens }),
    },
    path,
  );
}

function splitNames(names: string): readonly string[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}
