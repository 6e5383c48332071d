import { InvalidInputError, parseFileConfig, readText, type Workspace } from '@x/core';
import { errorText } from '@x/core/internal';
import * as z from 'zod';
import type { AgentSettings } from '../agent/agent-parts.js';
import { narrowingShape } from '../capabilities/permissions/permissions.js';
import { parseFrontMatter } from '../lib/front-matter.js';
import { legibleEntries } from '../lib/legible-entries.js';

/** Schema of a subagent's name, which is part of session keys and paths and is written by models. */
const nameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be letters, digits, - and _, 64 at most');

/**
 * Keys that a file of the workspace may have. They can only restrict a subagent, never give it more than its parent
 * has.
 */
export const subagentFileSchema = z.strictObject({
  /** Letters, digits, `-` and `_`. */
  name: nameSchema,
  /** When to use the subagent. The model chooses by this text. */
  description: z.string().trim().min(1).max(2_000),
  systemPrompt: z.string().default(''),
  /** Names of the parent's tools to keep; a name may end in `*`. Default: all that subagents can inherit. */
  tools: narrowingShape.tools,
  /** A model, or a name in `models`. Default: the parent's model. */
  model: z.string().min(1).optional(),
  maxIterations: z.int().min(1).optional(),
  temperature: z.number().min(0).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  /** Additional rules that deny calls: `execute(rm *)`, as in `permissions()`. */
  deny: narrowingShape.deny,
  /** Hides the subagent from the model, which cannot spawn it. Its name stays reserved. */
  hidden: z.boolean().default(false),
});

/** A subagent that is defined in a file. */
interface SubagentFile extends z.output<typeof subagentFileSchema> {
  /** The text of the file. */
  readonly source: string;
}

/** Maximum size of a definition in bytes. A longer one would be a system prompt that exceeds any context window. */
const MAX_BYTES = 100_000;
/** Maximum number of files, which every call reads again. */
const MAX_FILES = 200;
/** Maximum number of steps of a subagent from a file, unless the program sets a limit. */
const MAX_ITERATIONS = 50;

/** Options for reading a folder's files. */
interface LoadOptions {
  /** Names of subagents that are defined in code. Files cannot replace them. */
  readonly taken: ReadonlySet<string>;
  /** Names of the models that the program offers. */
  readonly models: readonly string[];
  /** Upper bounds that the program sets for a subagent. */
  readonly limits?: Pick<AgentSettings, 'maxIterations' | 'maxOutputTokens'>;
}

/**
 * Reads every `*.md` file of a folder, or none if `folder` is empty. An invalid file is reported as a problem and does
 * not affect the others.
 */
export async function loadSubagents(
  workspace: Workspace,
  folder: string,
  { taken, models, limits = {} }: LoadOptions,
): Promise<{ readonly subagents: readonly SubagentFile[]; readonly problems: readonly string[] }> {
  const subagents = new Map<string, SubagentFile>();
  // Compare names without case, because a model cannot distinguish `Explorer` from `explorer`.
  const alike = (name: string, names: Iterable<string>) =>
    [...names].find((other) => other.toLowerCase() === name.toLowerCase());
  const problems: string[] = [];
  if (folder === '') return { subagents: [], problems };
  let read = 0;
  for await (const entry of legibleEntries(workspace, folder, problems)) {
    if (entry.type !== 'file' || !entry.path.endsWith('.md')) continue;
    if (++read > MAX_FILES) {
      problems.push(`${entry.path}: skipped with all later files: at most ${MAX_FILES} files are read`);
      break;
    }
    try {
      const text = await readText(workspace, entry.path, MAX_BYTES);
      const subagent = parseSubagentFile(text, entry.path);
      const { name, model = 'inherit' } = subagent;
      const own = alike(name, taken);
      if (own !== undefined) throw new Error(`"${own}" is reserved by the program; use another name`);
      const before = alike(name, subagents.keys());
      if (before !== undefined) throw new Error(`an earlier file is also named "${before}"`);
      const isKnown = ['inherit', ...models].includes(model);
      const { maxIterations = MAX_ITERATIONS, maxOutputTokens } = limits;
      subagents.set(name, {
        ...subagent,
        model: isKnown ? model : 'inherit',
        maxIterations: Math.min(subagent.maxIterations ?? maxIterations, maxIterations),
        maxOutputTokens: Math.min(subagent.maxOutputTokens ?? Infinity, maxOutputTokens ?? Infinity),
      });
      if (subagent.hidden) problems.push(`${entry.path}: hidden: the model cannot spawn it`);
      if (isKnown) continue;
      const known = models.toSorted().join(', ') || 'none';
      problems.push(
        `${entry.path}: model: there is no model named "${model}" (known: ${known}), so the parent's model is used; ` +
          'a file of the workspace may name only the models that the operator lists: models of subagents',
      );
    } catch (error) {
      problems.push(`${entry.path}: ${errorText(error)}`);
    }
  }
  return { subagents: [...subagents.values()], problems };
}

/**
 * Parses a subagent from Markdown: front matter, then its system prompt. Keys are in snake_case; `tools` is a list or a
 * comma-separated string. An unknown key rejects the file: if it were ignored, the subagent could do more than its author
 * intended.
 *
 * @throws {InvalidInputError} naming every bad field.
 */
function parseSubagentFile(text: string, path: string): SubagentFile {
  const { data, body } = parseFrontMatter(text, path);
  const stem = path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/, '');
  const given: Record<string, unknown> = { name: stem, ...data };
  if (typeof given.tools === 'string') given.tools = splitNames(given.tools);
  if (body !== '' && given.system_prompt !== undefined) {
    const message = 'must be omitted, because the text below the front matter is already the system prompt';
    throw new InvalidInputError(path, [{ path: 'system_prompt', message }]);
  }
  given.system_prompt ??= body;
  return { ...parseFileConfig(subagentFileSchema, given, path), source: text };
}

/** Splits a comma-separated list of tool names. */
export function splitNames(names: string): readonly string[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}
