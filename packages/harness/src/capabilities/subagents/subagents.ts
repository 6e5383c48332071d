import { type Capability, type Clock, type Model, parseWith } from '@x/core';
import * as z from 'zod';
import { type AgentSettings, ownSettingsSchema } from '../../agent/agent-parts.js';
import { subagentFileSchema } from '../../config/subagent-files.js';
import type { TaskRunner } from './tasks.js';
import { Team } from './team.js';

/** Checks that an object has a member by which a part of an agent is told. */
function having<T>(member: keyof T, type: string, message: string) {
  return z.custom<T>((value) => typeof (value as T | null)?.[member] === type, message);
}

const modelSchema = z.union([
  z.string().min(1),
  having<Model>('generate', 'function', 'must be a Model or the name of one'),
]);

export const definitionSchema = subagentFileSchema.extend({
  /** A model, or a name in `models`. Default: the parent's. */
  model: modelSchema.optional(),
  /** Models, or names in `models`, that take over when its own fails for good. Default: those of the parent. */
  fallback: z.array(modelSchema).readonly().optional(),
  /** Settings such as `checkpoint`, ahead of those that all subagents have. */
  settings: ownSettingsSchema.optional(),
  /** Names of the parent's capabilities that it goes without. What they object to still holds. */
  without: z.array(z.string()).readonly().default([]),
  /** Capabilities, with their tools, that it has beside the parent's, or in place of those of the same names. They are closed with the parent. */
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

export const subagentsConfigSchema = z.strictObject({
  /** A folder of the workspace with one Markdown file a subagent; empty: none is read. */
  folder: z.string().default('subagents'),
  /** Adds a subagent for any task, named `general-purpose`. */
  generalPurpose: z.boolean().default(true),
  /** Levels of subagents below the agent; 1: subagents have none of their own. */
  maxDepth: z.int().min(1).max(5).default(2),
  /** Tasks of one session that may run at a time. */
  maxRunning: z.int().min(1).default(8),
  /** Milliseconds that a tool waits for a subagent, unless the model says otherwise, before it goes on in the background. */
  timeoutMs: z.int().min(0).default(120_000),
  /** Milliseconds that a task waits for a process to take it from the queue; then it counts as failed. */
  pendingMs: z.int().min(1).default(300_000),
  /** Milliseconds between looks at a task that another process runs. */
  pollMs: z.int().min(1).default(500),
  /** Tasks that a session remembers; the oldest whose end the model knows are forgotten first. */
  maxRecords: z.int().min(1).default(100),
  /** The queue that carries tasks to other processes. Default: subagents run in this process. */
  runner: z.custom<TaskRunner>().optional(),
  /** Models that definitions name. */
  models: z.record(z.string(), z.custom<Model>()).default({}),
  /** Settings of every subagent, such as `limits`, which are else those of the agent. */
  settings: z.custom<Partial<AgentSettings>>().default({}),
  clock: z.custom<Clock>().optional(),
});

export type SubagentsConfig = z.input<typeof subagentsConfigSchema>;
export type SubagentsSettings = z.output<typeof subagentsConfigSchema>;

const SUBJECT = 'subagents configuration';

/**
 * Lets the agent give work to subagents. They are made of its own parts, each with a window, a compaction and a session of
 * its own, and keep to its permissions and plan mode. They come from `definitions` and from Markdown files in `subagents/`
 * of the workspace; one is built in (`general-purpose`).
 *
 * The model waits for the work, or lets it go on in the background. What became of a task is in the subagent's session, and
 * the model hears of the end of each task exactly once.
 *
 * @example
 * ```ts
 * import { HarnessAgent, subagents, workspaceTools } from '@x/harness';
 *
 * const agent = HarnessAgent.builder()
 *   .model(model)
 *   .use(workspaceTools())
 *   .use(subagents([{ name: 'reviewer', description: 'Reviews a change.', systemPrompt: 'You review code.' }]))
 *   .build();
 * ```
 * @throws {InvalidInputError} for a malformed definition or configuration, naming the path of every bad field.
 */
export function subagents(
  definitions: readonly SubagentDefinition[] = [],
  config: SubagentsConfig = {},
): Capability {
  const given = z.object({ definitions: z.array(definitionSchema) });
  const { definitions: declared } = parseWith(given, { definitions }, SUBJECT);
  return new Team({ declared, settings: parseWith(subagentsConfigSchema, config, SUBJECT), depth: 1 });
}
