import type { Capability, Model, Tool, Workspace } from '@x/core';
import type { ComposedAgent } from '../../agent/agent-parts.js';
import { HarnessAgent } from '../../agent/harness-agent.js';
import { share } from '../../agent/share-capability.js';
import { unknownTools } from '../../agent/tool-references.js';
import { loadSubagents } from '../../config/subagent-files.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { keptBy, NARROWING, narrowing } from '../permissions/permissions.js';
import { INHERITANCE, inheritance } from './inheritance.js';
import type { Subagent, SubagentsSettings } from './subagents.js';
import { NAME } from './tasks.js';

/** Capabilities that no subagent gets: what a parent remembers is its own. */
const WITHHELD = ['memory', 'session_history'];
/** Tools of the parent that no subagent gets: leaving plan mode is between the parent and its user. */
const NEVER_HANDED_DOWN = ['plan_enter', 'plan_write', 'plan_exit'];

/** Everything its parent has, and a window of its own. */
export const GENERAL_PURPOSE: Subagent = {
  name: 'general-purpose',
  description:
    'Works on any task of several steps with a context window of its own: research, searches that take many tries, ' +
    'changes that can be described completely. Only its final answer comes back.',
  systemPrompt:
    'You are a subagent: another agent gave you one task and reads only your final answer. Do the whole task, then ' +
    'answer with what was asked for: findings with paths and lines, what you changed, what is open. You cannot ask back.',
  ...{ deny: [], hidden: false, without: [], capabilities: [] },
};

/** What the subagents of one agent are made of. */
export interface MembersOptions {
  readonly parent: ComposedAgent;
  readonly declared: readonly Subagent[];
  readonly settings: SubagentsSettings;
  /** Levels below the agent itself. Those at 1, its own, install and close the capabilities in definitions. */
  readonly depth: number;
  /** Makes the subagents of a subagent, where it may have some. */
  readonly nest: (() => Capability) | undefined;
}

/** The subagents of one agent, and the agents that work as such. */
export class Members {
  readonly #options: MembersOptions;
  /** By name and source: a file may have changed, and tasks still run by what it said before. */
  readonly #agents = new Map<string, HarnessAgent>();
  /** The parent's tools that no capability brings. */
  readonly #tools: readonly Tool[];

  /** @throws {HarnessConfigError} when a definition in code names what does not exist. */
  constructor(options: MembersOptions) {
    this.#options = options;
    const { tools, capabilities } = options.parent;
    const brought = capabilities.flatMap((capability) => capability.tools ?? []);
    this.#tools = tools.filter((tool) => !brought.includes(tool));
    // A mistake in code should show when the agent is built.
    if (options.depth === 1) for (const subagent of options.declared) this.agentOf(subagent);
  }

  /** Finds out which subagents there are, by name; what code declares stands before what files do. */
  async read(files: Workspace) {
    const { declared, settings, depth, parent } = this.#options;
    const { folder, generalPurpose, models, settings: limits } = settings;
    const taken = new Set([GENERAL_PURPOSE, ...declared].map(({ name }) => name));
    const loaded = await loadSubagents(files, folder, { taken, limits, models: Object.keys(models) });
    const subagents = new Map([...declared, ...loaded.subagents].map((each) => [each.name, each]));
    if (generalPurpose && !subagents.has(GENERAL_PURPOSE.name)) {
      subagents.set(GENERAL_PURPOSE.name, GENERAL_PURPOSE);
    }
    // A subagent's own team may lack what its definition left out.
    const unknown = [...subagents.values()].flatMap(({ name, tools = [] }) =>
      depth > 1 ? [] : unknownTools(tools, parent).map((problem) => `${name}.tools: ${problem}`),
    );
    // Their names stay taken: no file may pass for one that the program hides.
    for (const { name, hidden } of [...subagents.values()]) if (hidden) subagents.delete(name);
    return { subagents, problems: [...loaded.problems, ...unknown] };
  }

  /** @throws {HarnessConfigError} when the definition names a model that does not exist. */
  agentOf(subagent: Subagent): HarnessAgent {
    const key = JSON.stringify([subagent.name, subagent.source]);
    const agent = this.#agents.get(key) ?? memberAgent(subagent, this.#tools, this.#options);
    this.#agents.set(key, agent);
    return agent;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.close()));
  }
}

/**
 * Makes the agent of a subagent: what its parent is made of, less what its definition leaves out. What its parent may not do
 * it may not do either, whatever the definition says: see {@link inheritance}.
 */
function memberAgent(subagent: Subagent, own: readonly Tool[], options: MembersOptions): HarnessAgent {
  const { parent, settings, nest, depth } = options;
  const { name, capabilities, tools } = subagent;
  const find = (given: Subagent['model'], path: string) => modelOf(given, `${name}.${path}`, options);
  const model = find(subagent.model, 'model');
  // An outage hits both alike.
  const others = subagent.fallback?.map((each, n) => find(each, `fallback[${n}]`)) ?? parent.fallback?.models;
  const fallback = others?.filter((other) => other !== model);
  const known = [...parent.capabilities.map(({ name }) => name), ...WITHHELD];
  const slip = subagent.without.find((name) => !known.includes(name));
  if (slip !== undefined && depth === 1) {
    const message = `there is no capability named "${slip}" (known: ${known.join(', ')})`;
    throw new HarnessConfigError([{ path: `subagents.${subagent.name}.without`, message }]);
  }
  const replaced = capabilities.map(({ name }) => name);
  const without = [NAME, INHERITANCE, NARROWING, ...WITHHELD, ...subagent.without, ...replaced];
  const shared = parent.capabilities.filter(({ name }) => !without.includes(name));
  const brought = capabilities.flatMap((each) => each.tools ?? []);
  // Its own before its parent's: a subagent of its own kind would be handed down what it has itself.
  const taken = [...brought.map(({ definition }) => definition.name), ...NEVER_HANDED_DOWN];
  const isNamed = keptBy(tools);
  const mayUse = ({ definition: { name } }: Tool) => isNamed(name) && !taken.includes(name);
  return HarnessAgent.builder()
    .name(`${parent.name}/${subagent.name}`)
    .systemPrompt(subagent.systemPrompt)
    .model(model, { fallback, fallbackWhen: parent.fallback?.when })
    .tools(...own.filter(mayUse))
    .workspace(parent.workspace)
    .storage(parent.storage)
    .isolation(parent.isolation)
    .session(parent.session)
    .use(inheritance(parent), ...shared.map((each) => share(each, FROM_PARENT, mayUse)))
    .use(...(depth === 1 ? capabilities : capabilities.map((each) => share(each, OWNED_ABOVE))))
    .use(...denial(subagent))
    .use(...(nest !== undefined && isNamed('agent_spawn') ? [nest()] : []))
    .limits(parent.limits)
    .settings(settings.settings)
    .settings(settingsOf(subagent))
    .build();
}

/** Denies what a definition says. A slip is refused, since its own subagents alone could have such a tool. */
function denial({ name, deny }: Subagent): readonly Capability[] {
  return narrowing({ deny }, `subagents.${name}.`).map((rules) => ({
    ...rules,
    install: (agent) =>
      rules.install?.({ ...agent, capabilities: agent.capabilities.filter((each) => each.name !== NAME) }),
  }));
}

/** @throws {HarnessConfigError} when a definition names a model that does not exist. */
function modelOf(
  model: Subagent['model'] = 'inherit',
  path: string,
  { parent, settings: { models } }: MembersOptions,
): Model {
  const found = typeof model !== 'string' ? model : model === 'inherit' ? parent.model : models[model];
  if (found !== undefined) return found;
  const known = Object.keys(models).sort().join(', ') || 'none';
  const message = `there is no model named "${model}" (known: ${known}); add it to subagents(…, { models })`;
  throw new HarnessConfigError([{ path: `subagents.${path}`, message }]);
}

/** Takes a subagent's settings in place of those for all. */
function settingsOf({ settings, maxIterations, maxOutputTokens, temperature }: Subagent) {
  const own = Object.entries({ maxIterations, maxOutputTokens, temperature });
  return { ...settings, ...Object.fromEntries(own.filter(([, value]) => Number.isFinite(value))) };
}

/** What a team above does for a definition's capability. */
const OWNED_ABOVE: readonly PropertyKey[] = ['install', 'close'] satisfies (keyof Capability)[];
/** What the parent does for its own: its judgment is asked for by {@link inheritance}. */
const FROM_PARENT: readonly PropertyKey[] = [...OWNED_ABOVE, 'authorize', 'unattended', 'confine'];
