import {
  type Capability,
  errorText,
  type Model,
  parseWith,
  readText,
  type Tool,
  type Workspace,
} from '@x/core';
import * as z from 'zod';
import { parseFrontMatter } from '../../lib/front-matter.js';

/** Names stand in session keys and paths, and models write them. */
const nameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be letters, digits, - and _, 64 at most');

export const definitionSchema = z.strictObject({
  name: nameSchema,
  description: z.string().trim().min(1).max(2_000),
  systemPrompt: z.string().default(''),
  tools: z.array(z.string().min(1)).optional(),
  model: z
    .union([z.string().min(1), z.custom<Model>(isModel, 'must be a Model or the name of one')])
    .optional(),
  maxIterations: z.int().min(1).optional(),
  temperature: z.number().min(0).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  features: z.record(z.string(), z.unknown()).default({}),
  deny: z.array(z.strictObject({ tool: z.string().min(1), match: z.string().optional() })).default([]),
  ownTools: z.array(z.custom<Tool>(isTool, 'must be a Tool')).default([]),
  capabilities: z.array(z.custom<Capability>(isCapability, 'must be a Capability')).default([]),
});

/** A subagent, as code declares it. */
export interface SubagentDefinition {
  /** Letters, digits, `-` and `_`. */
  readonly name: string;
  /** When to use it: what the model chooses by. */
  readonly description: string;
  readonly systemPrompt?: string | undefined;
  /** Names of the parent's tools that it gets; a name may end in `*`. Default: all but those that are never handed down. */
  readonly tools?: readonly string[] | undefined;
  /** A model, or a name in `models`. Default: the parent's. */
  readonly model?: string | Model | undefined;
  readonly maxIterations?: number | undefined;
  readonly temperature?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** By capability name: `false` leaves it out, `true` asks for it, anything else configures its own through `registry`. */
  readonly features?: Readonly<Record<string, unknown>> | undefined;
  /** Rules beyond those that it inherits. */
  readonly deny?: readonly { readonly tool: string; readonly match?: string | undefined }[] | undefined;
  /** Tools that it has and its parent has not. */
  readonly ownTools?: readonly Tool[] | undefined;
  /** Capabilities that it has beside, or in place of, the parent's of the same name. They are closed with the parent. */
  readonly capabilities?: readonly Capability[] | undefined;
}

export type Subagent = Readonly<z.output<typeof definitionSchema>>;

/** @throws {InvalidInputError} naming the path of every bad field. */
function parseSubagent(definition: unknown, subject: string): Subagent {
  return parseWith(definitionSchema, definition, subject);
}

/** Everything its parent has, and a window of its own. */
export const GENERAL_PURPOSE = parseSubagent(
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

function isTool(value: unknown): boolean {
  return typeof (value as { run?: unknown } | null)?.run === 'function';
}

function isCapability(value: unknown): boolean {
  return typeof (value as { name?: unknown } | null)?.name === 'string';
}

function isModel(value: unknown): boolean {
  return typeof (value as { generate?: unknown } | null)?.generate === 'function';
}

/** The subagents of a folder, and the problems of files that define none. */
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
      problems.push(`${entry.path}: ${errorText(error)}`);
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
