import { InvalidInputError, parseFileConfig, readText, type Workspace } from '@x/core';
import { errorText } from '@x/core/internal';
import * as z from 'zod';
import type { AgentSettings } from '../agent/agent-parts.js';
import { narrowingShape } from '../capabilities/permissions/permissions.js';
import { parseFrontMatter } from '../lib/front-matter.js';
import { legibleEntries } from '../lib/legible-entries.js';
import { withReasons } from './refused-keys.js';

/** Names stand in session keys and paths, and models write them. */
const nameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be letters, digits, - and _, 64 at most');

/** All that a file of the workspace may say: it takes away, and gives nothing that the parent has not. */
export const subagentFileSchema = z.strictObject({
  /** Letters, digits, `-` and `_`. */
  name: nameSchema,
  /** When to use it: what the model chooses by. */
  description: z.string().trim().min(1).max(2_000),
  systemPrompt: z.string().default(''),
  /** Names of the parent's tools that it gets; a name may end in `*`. Default: all but those that are never handed down. */
  tools: narrowingShape.tools,
  /** A model, or a name in `models`. Default: the parent's. */
  model: z.string().min(1).optional(),
  maxIterations: z.int().min(1).optional(),
  temperature: z.number().min(0).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  /** Rules that deny calls beyond those that its parent may not make: `execute(rm *)`, as in `permissions()`. */
  deny: narrowingShape.deny,
  /** Keeps it from the model, which neither reads of it nor can spawn it; its name stays taken. */
  hidden: z.boolean().default(false),
});

/** A subagent, as a file defines it. */
interface SubagentFile extends z.output<typeof subagentFileSchema> {
  /** The text of the file. */
  readonly source: string;
}

/** AgentScope's names for keys of ours. */
const ALIASES: Readonly<Record<string, string>> = { steps: 'max_iterations', max_iters: 'max_iterations' };
/** AgentScope's modes of a subagent; `primary` keeps it from the model. */
const MODES: readonly unknown[] = [undefined, null, 'subagent', 'all', 'primary'];
/**
 * Keys of AgentScope that limit nothing. Any other unknown key keeps the file out: if it were ignored, the subagent could do
 * more than its author meant.
 */
const WITHOUT_EFFECT = ['mode', 'workspace', 'top_p', 'expose_to_user', 'enable_pending_tool_recovery'];

/** Definitions longer than this are not read: they would be system prompts that no window holds. */
const MAX_BYTES = 100_000;
/** Files that are read, again in every call. */
const MAX_FILES = 200;
/** Steps that a subagent of a file may take unless the program says how many. */
const MAX_ITERATIONS = 50;

/** What a folder's files are read with. */
interface LoadOptions {
  /** Names of the program's own subagents, which no file replaces. */
  readonly taken: ReadonlySet<string>;
  /** Names of the models that the program offers. */
  readonly models: readonly string[];
  /** The most that the program lets a subagent take. */
  readonly limits?: Pick<AgentSettings, 'maxIterations' | 'maxOutputTokens'>;
}

/**
 * Reads every `*.md` of a folder, nothing of one without a name; a file that is no subagent becomes a problem, and harms no other.
 * What a file says and nothing takes is a problem, too.
 */
export async function loadSubagents(
  workspace: Workspace,
  folder: string,
  { taken, models, limits = {} }: LoadOptions,
): Promise<{ readonly subagents: readonly SubagentFile[]; readonly problems: readonly string[] }> {
  const subagents = new Map<string, SubagentFile>();
  // A model that reads `Explorer` and `explorer` cannot tell whose is which.
  const alike = (name: string, names: Iterable<string>) =>
    [...names].find((other) => other.toLowerCase() === name.toLowerCase());
  const problems: string[] = [];
  if (folder === '') return { subagents: [], problems };
  let read = 0;
  for await (const entry of legibleEntries(workspace, folder, problems)) {
    if (entry.type !== 'file' || !entry.path.endsWith('.md')) continue;
    if (++read > MAX_FILES) {
      problems.push(`${entry.path}: ${MAX_FILES} files are read, and this one and those behind it are not`);
      break;
    }
    try {
      const { subagent, warnings } = parseSubagentFile(
        await readText(workspace, entry.path, MAX_BYTES),
        entry.path,
      );
      const { name, model = 'inherit' } = subagent;
      const own = alike(name, taken);
      if (own !== undefined) throw new Error(`"${own}" is the program's own; name it otherwise`);
      const before = alike(name, subagents.keys());
      if (before !== undefined) throw new Error(`a file before it is named "${before}" too`);
      const isKnown = ['inherit', ...models].includes(model);
      const { maxIterations = MAX_ITERATIONS, maxOutputTokens } = limits;
      subagents.set(name, {
        ...subagent,
        model: isKnown ? model : 'inherit',
        maxIterations: Math.min(subagent.maxIterations ?? maxIterations, maxIterations),
        maxOutputTokens: Math.min(subagent.maxOutputTokens ?? Infinity, maxOutputTokens ?? Infinity),
      });
      problems.push(...warnings.map((message) => `${entry.path}: ${message}`));
      if (isKnown) continue;
      const known = models.toSorted().join(', ') || 'none';
      problems.push(
        `${entry.path}: model: there is no model named "${model}" (known: ${known}), so the parent's model is used; ` +
          'a file of the workspace may name only models that the operator lists: in definitions of the agent’s file, ' +
          'or in code in models of subagents(…)',
      );
    } catch (error) {
      problems.push(`${entry.path}: ${errorText(error)}`);
    }
  }
  return { subagents: [...subagents.values()], problems };
}

/**
 * Reads a subagent from Markdown: front matter, then its system prompt. Keys are in snake_case; `tools` may be a list, or words
 * with commas between them. AgentScope's keys that limit nothing are ignored.
 *
 * @throws {InvalidInputError} naming every bad field.
 */
function parseSubagentFile(text: string, path: string) {
  const { data, body } = parseFrontMatter(text, path);
  const stem = path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/, '');
  const given: Record<string, unknown> = { name: stem, ...data };
  if (typeof given.tools === 'string') given.tools = splitNames(given.tools);
  if (body !== '' && given.system_prompt !== undefined) {
    const message = 'the text below the front matter is the system prompt already';
    throw new InvalidInputError(path, [{ path: 'system_prompt', message }]);
  }
  given.system_prompt ??= body;
  const { known, warnings } = withoutForeignKeys(given, path);
  const definition = withReasons('file', () => parseFileConfig(subagentFileSchema, known, path));
  return { subagent: { ...definition, source: text }, warnings };
}

/**
 * Renames AgentScope's keys that mean one of ours, and leaves out those without effect. Each problem begins with its key.
 *
 * @throws {InvalidInputError} for two keys that mean the same, and for an unknown mode, which may limit.
 */
function withoutForeignKeys(data: Readonly<Record<string, unknown>>, path: string) {
  const { mode } = data;
  if (!MODES.includes(mode)) {
    throw new InvalidInputError(path, [{ path: 'mode', message: 'must be subagent, all or primary' }]);
  }
  const isPrimary = mode === 'primary';
  const known: Record<string, unknown> = {};
  const warnings: string[] = [];
  for (const [key, value] of Object.entries(data)) {
    const name = Object.hasOwn(ALIASES, key) ? (ALIASES[key] as string) : key;
    if (Object.hasOwn(known, name)) {
      throw new InvalidInputError(path, [{ path: key, message: `means ${name}, which is given already` }]);
    }
    if (!WITHOUT_EFFECT.includes(key)) known[name] = value;
    else if (key !== 'mode' || !isPrimary) warnings.push(`${key}: unknown key, which does nothing`);
  }
  if (isPrimary) known.hidden = true;
  if (known.hidden === true) warnings.push(`${isPrimary ? 'mode' : 'hidden'}: the model cannot spawn it`);
  return { known, warnings };
}

/** Names of tools as words with commas between them. */
export function splitNames(names: string): readonly string[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}
