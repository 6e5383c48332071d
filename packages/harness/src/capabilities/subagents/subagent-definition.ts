import {
  type Capability,
  errorText,
  InvalidInputError,
  type Model,
  parseFileConfig,
  parseWith,
  readText,
  type Tool,
  toSnakeCase,
  type Workspace,
} from '@x/core';
import * as z from 'zod';
import { ownSettingsSchema } from '../../agent/agent-parts.js';
import { withoutForeignSubagentKeys, withReasons } from '../../config/foreign-keys.js';
import { parseFrontMatter } from '../../lib/front-matter.js';
import { narrowingShape } from '../permissions/permissions.js';

/** Names stand in session keys and paths, and models write them. */
const nameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be letters, digits, - and _, 64 at most');

/** All that a file of the workspace may say: it takes away, and gives nothing that the parent has not. */
const fileSchema = z.strictObject({
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

const FILE_KEYS = Object.keys(fileSchema.shape).map(toSnakeCase);

/** Checks that an object has a member by which a part of an agent is told. */
function having<T>(member: keyof T, type: string, message: string) {
  return z.custom<T>((value) => typeof (value as T | null)?.[member] === type, message);
}

const modelSchema = z.union([
  z.string().min(1),
  having<Model>('generate', 'function', 'must be a Model or the name of one'),
]);

export const definitionSchema = fileSchema.extend({
  /** A model, or a name in `models`. Default: the parent's. */
  model: modelSchema.optional(),
  /** Models, or names in `models`, that take over when its own fails for good. Default: those of the parent. */
  fallback: z.array(modelSchema).readonly().optional(),
  /** Settings such as `checkpoint`, ahead of those that all subagents have. */
  settings: ownSettingsSchema.optional(),
  /** Names of the parent's capabilities that it goes without. What they object to still holds. */
  without: z.array(z.string()).readonly().default([]),
  /** Tools that it has and its parent has not. */
  ownTools: z
    .array(having<Tool>('run', 'function', 'must be a Tool'))
    .readonly()
    .default([]),
  /** Capabilities that it has beside, or in place of, the parent's of the same name. They are closed with the parent. */
  capabilities: z
    .array(having<Capability>('name', 'string', 'must be a Capability'))
    .readonly()
    .default([]),
});

/** A subagent, as code declares it. */
export type SubagentDefinition = Readonly<z.input<typeof definitionSchema>>;

export type Subagent = Readonly<z.output<typeof definitionSchema>> & {
  /** The text of the file that defines it; none for one of the program. */
  readonly source?: string;
};

/** Everything its parent has, and a window of its own. */
export const GENERAL_PURPOSE: Subagent = parseWith(
  definitionSchema,
  {
    name: 'general-purpose',
    description:
      'Works on any task of several steps with a context window of its own: research, searches that take many tries, ' +
      'changes that can be described completely. Only its final answer comes back.',
    systemPrompt:
      'You are a subagent: another agent gave you one task and reads only your final answer. Do the whole task, then ' +
      'answer with what was asked for: findings with paths and lines, what you changed, what is open. You cannot ask back.',
  },
  'general-purpose',
);

/** Definitions longer than this are not read: they would be system prompts that no window holds. */
const MAX_BYTES = 100_000;

/** What a folder's files are read with. */
interface LoadOptions {
  /** Names of the program's own subagents, which no file replaces. */
  readonly taken: ReadonlySet<string>;
  /** Names of the models that the program offers. */
  readonly models: readonly string[];
}

/**
 * Reads every `*.md` of a folder, nothing of one without a name; a file that is no subagent becomes a problem, and harms no other.
 * What a file says and nothing takes is a problem, too.
 */
export async function loadSubagents(
  workspace: Workspace,
  folder: string,
  { taken, models }: LoadOptions,
): Promise<{ readonly subagents: readonly Subagent[]; readonly problems: readonly string[] }> {
  const subagents = new Map<string, Subagent>();
  const problems: string[] = [];
  if (folder === '') return { subagents: [], problems };
  for await (const entry of workspace.list(folder)) {
    if (entry.type !== 'file' || !entry.path.endsWith('.md')) continue;
    try {
      if (entry.size > MAX_BYTES) throw new Error(`has ${entry.size} bytes; ${MAX_BYTES} are allowed`);
      const { subagent, told } = parseSubagentFile(await readText(workspace, entry.path), entry.path);
      const { name, model = 'inherit' } = subagent;
      if (taken.has(name)) throw new Error(`"${name}" is the program's own; name it otherwise`);
      if (subagents.has(name)) throw new Error(`a file before it is named "${name}" too`);
      const isKnown = typeof model !== 'string' || ['inherit', ...models].includes(model);
      subagents.set(name, isKnown ? subagent : { ...subagent, model: 'inherit' });
      problems.push(...told.map((message) => `${entry.path}: ${message}`));
      if (isKnown) continue;
      const known = models.toSorted().join(', ') || 'none';
      problems.push(
        `${entry.path}: model: there is no model named "${model}" (known: ${known}), and its parent's works for it; ` +
          'add it to subagents(…, { models })',
      );
    } catch (error) {
      problems.push(`${entry.path}: ${errorText(error)}`);
    }
  }
  return { subagents: [...subagents.values()], problems };
}

/**
 * A subagent from Markdown: front matter, then its system prompt. Its keys are those of the ecosystem, in snake_case;
 * `tools` may be a list or words with commas between them. What is known to limit nothing is
 * ignored.
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
  const { known, told } = withoutForeignSubagentKeys(given, path, FILE_KEYS);
  const definition = withReasons('file', () => parseFileConfig(fileSchema, known, path));
  const subagent: Subagent = { ...definition, without: [], ownTools: [], capabilities: [], source: text };
  return { subagent, told };
}

function splitNames(names: string): readonly string[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}
