import { resolve } from 'node:path';
import { type Model, type SessionStore, type Workspace, XError } from '@x/core';
import type { Issue } from '@x/core/internal';
import type { CapabilityRegistry } from '../agent/capability-registry.js';
import { HarnessAgent } from '../agent/harness-agent.js';
import type { HarnessAgentBuilder } from '../agent/harness-agent-builder.js';
import { HarnessConfigError, issuesOf } from '../errors/harness-config-error.js';
import {
  type ModelReference,
  type ParseAgentOptions,
  type PartReference,
  parseAgentConfig,
} from './agent-file.js';

/** Models, capabilities and stores that a program offers to configuration files. */
export interface PartProviders {
  /** Creates a model that the file names. */
  model(reference: ModelReference): Model | Promise<Model>;
  /** The capabilities that files can name. */
  readonly registry: CapabilityRegistry;
  /** Opens the store that `session` refers to. Without this function, files cannot choose a store. */
  session?(reference: PartReference): SessionStore | Promise<SessionStore>;
  /** Opens the default store for the directory of a workspace. Default: files in the workspace. */
  defaultSession?(workspace: string): SessionStore | Promise<SessionStore>;
  /** Opens a workspace that is not a directory. */
  workspace?(reference: PartReference): Workspace | Promise<Workspace>;
}

export interface AgentFromConfigOptions extends ParseAgentOptions {
  /** Base of relative paths in the file. Default: the current directory. */
  readonly directory?: string;
}

/**
 * Creates a builder from an agent's configuration. The program can add parts that only code can create, and then build
 * the agent.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises';
 * import { agentFromConfig, CapabilityRegistry, todoList } from '@x/harness';
 *
 * const config = JSON.parse(await readFile('agent.json', 'utf8'));
 * const registry = new CapabilityRegistry().register('todo_list', todoList);
 * const builder = await agentFromConfig(config, { model: () => model, registry });
 * const agent = builder.build();
 * ```
 * @param config The content of the file, parsed as JSON or YAML.
 * @throws {InvalidInputError} naming the path of every bad field and every variable that is not set.
 * @throws {HarnessConfigError} naming every part that could not be created, with the reason.
 */
export async function agentFromConfig(
  config: unknown,
  parts: PartProviders,
  options: AgentFromConfigOptions = {},
): Promise<HarnessAgentBuilder<HarnessAgent>> {
  const parsed = parseAgentConfig(config, options);
  const { settings, narrowing, model, fallback, workspace, session, capabilities } = parsed;
  const { directory = process.cwd() } = options;
  const builder = HarnessAgent.builder().settings(settings).narrow(narrowing);
  const issues: Issue[] = [];
  const make = (path: string, create: () => unknown) => attempt(issues, path, create);
  const others: Model[] = [];
  for (const [index, reference] of fallback.entries()) {
    await make(`fallback[${index}]`, async () => others.push(await parts.model(reference)));
  }
  await make('model', async () => builder.model(await parts.model(model), { fallback: others }));
  const isDirectory = typeof workspace === 'string' && !workspace.includes('://');
  const folder =
    isDirectory || workspace === undefined ? resolve(directory, workspace ?? 'workspace') : undefined;
  await make('workspace', async () => {
    if (folder !== undefined) builder.workspace(folder);
    else if (workspace !== undefined)
      builder.workspace(await offered(parts.workspace, workspace, 'workspaces'));
  });
  await make('session', async () => {
    if (session !== undefined) builder.session(await offered(parts.session, session, 'session stores'));
    else if (folder !== undefined && parts.defaultSession)
      builder.session(await parts.defaultSession(folder));
  });
  for (const { place, ...reference } of capabilities) {
    await make(place.path, async () => builder.use(await parts.registry.load(reference, place)));
  }
  if (issues.length > 0) throw new HarnessConfigError(issues);
  return builder;
}

/** Creates a part of an agent. If `create` throws, adds the error to `issues`. */
export async function attempt(issues: Issue[], path: string, create: () => unknown): Promise<void> {
  try {
    await create();
  } catch (error) {
    issues.push(...issuesOf(error, path));
  }
}

function offered<Part>(
  open: ((reference: PartReference) => Part | Promise<Part>) | undefined,
  reference: PartReference,
  what: string,
): Part | Promise<Part> {
  if (open !== undefined) return open(reference);
  throw new XError('part_unknown', `this program does not offer ${what} by name; omit the key`);
}
