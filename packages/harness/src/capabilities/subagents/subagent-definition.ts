import { type Capability, type Model, parseWith, type Tool } from '@x/core';
import { z } from 'zod';

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
export function parseSubagent(definition: unknown, subject: string): Subagent {
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
