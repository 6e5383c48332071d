import type { AgentComposition, AgentEvent, Capability, Model, SessionStore, Tool } from '@x/core';
import picomatch from 'picomatch';
import type { AgentSettings, ComposedAgent } from '../../agent/agent-parts.js';
import type { CapabilityRegistry } from '../../agent/capability-registry.js';
import { HarnessAgent } from '../../agent/harness-agent.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { inheritance } from './inherited-context.js';
import type { Subagent } from './subagent-definition.js';
import { TASK_TOOLS } from './subagents-config.js';

/** Tools of the parent that no subagent gets: leaving plan mode, for one, is between the parent and its user. */
const NEVER_HANDED_DOWN = [...TASK_TOOLS, 'plan_enter', 'plan_write', 'plan_exit'];

interface ChildAgentOptions {
  readonly parent: ComposedAgent;
  readonly session: SessionStore;
  readonly models: Readonly<Record<string, Model>>;
  readonly registry: CapabilityRegistry;
  readonly settings: Partial<AgentSettings>;
  /** Names of the parent's capabilities that no subagent gets. */
  readonly withhold: readonly string[];
  /** The subagents of the subagent, where it may have some. */
  readonly nested: Capability | undefined;
  /** True when this agent installs and closes the capabilities in definitions; else a team above does. */
  readonly isOwner: boolean;
  readonly onEvent: ((event: AgentEvent) => void) | undefined;
}

/** The id of a subagent, which keeps its sessions apart from its parent's: names of subagents hold no `/`. */
function childName(parent: string, subagent: string): string {
  return `${parent}/${subagent}`;
}

/**
 * Makes the agent of a subagent: what its parent is made of, less what its definition leaves out.
 *
 * @throws {HarnessConfigError} when the definition names what does not exist.
 */
export function childAgent(subagent: Subagent, options: ChildAgentOptions): HarnessAgent {
  const { parent, nested } = options;
  const model = modelOf(subagent, options);
  const { capabilities } = subagent;
  const given = options.isOwner ? capabilities : capabilities.map(shareCapability);
  const givenTools = options.isOwner ? [] : capabilities.flatMap((capability) => capability.tools ?? []);
  const own = [...given, ...configured(subagent, options)];
  const replaced = new Set(own.map((capability) => capability.name));
  const shared = parent.capabilities.filter(
    ({ name }) =>
      !options.withhold.includes(name) && !replaced.has(name) && subagent.features[name] !== false,
  );
  const mayUse = subagent.tools === undefined ? () => true : picomatch([...subagent.tools]);
  const ownTools = [...subagent.ownTools, ...givenTools];
  // Its own before its parent's: a subagent of its own kind would be handed down what it has itself.
  const taken = new Set(ownTools.map(({ definition }) => definition.name));
  const tools = [
    ...handedDown(parent, shared).filter(
      ({ definition }) => mayUse(definition.name) && !taken.has(definition.name),
    ),
    ...ownTools,
  ];
  const additions = nested !== undefined && mayUse('agent_spawn') ? [...own, nested] : own;
  const builder = HarnessAgent.builder()
    .name(childName(parent.name, subagent.name))
    .systemPrompt(subagent.systemPrompt)
    .model(model, fallbackOf(parent, model))
    .tools(...tools)
    .workspace(parent.workspace)
    .session(options.session)
    .use(inheritance(), ...shared.map(shareCapability), ...additions)
    .settings(settingsOf(subagent, options.settings));
  if (options.onEvent) builder.onEvent(options.onEvent);
  return builder.build();
}

/** The tools of the agent itself and of the capabilities that are shared. */
function handedDown(
  { tools, capabilities }: AgentComposition,
  shared: readonly Capability[],
): readonly Tool[] {
  const withheld = new Set(
    capabilities.filter((capability) => !shared.includes(capability)).flatMap(({ tools = [] }) => tools),
  );
  return tools.filter((tool) => !withheld.has(tool) && !NEVER_HANDED_DOWN.includes(tool.definition.name));
}

/** The capabilities that its `features` configure. */
function configured(subagent: Subagent, { parent, registry }: ChildAgentOptions): readonly Capability[] {
  return Object.entries(subagent.features).flatMap(([name, config]) => {
    if (config === false) return [];
    const path = `subagents.${subagent.name}.features`;
    if (config !== true) return [registry.resolve({ ref: name, config }, path)];
    if (parent.capabilities.some((capability) => capability.name === name)) return [];
    return [registry.resolve(name, path)];
  });
}

/** @throws {HarnessConfigError} when the definition names a model that does not exist. */
function modelOf({ name, model }: Subagent, { parent, models }: ChildAgentOptions): Model {
  if (model === undefined || model === 'inherit') return parent.model;
  if (typeof model !== 'string') return model;
  const found = models[model];
  if (found !== undefined) return found;
  const known = Object.keys(models).sort().join(', ') || 'none';
  throw new HarnessConfigError([
    {
      path: `subagents.${name}.model`,
      message: `there is no model named "${model}" (known: ${known}); add it to subagents(…, { models })`,
    },
  ]);
}

/** Lets the parent's fallback models take over from the child's model too: an outage hits both alike. */
function fallbackOf({ fallback }: ComposedAgent, model: Model) {
  if (fallback === undefined) return {};
  return { fallback: fallback.models.filter((other) => other !== model), fallbackWhen: fallback.when };
}

function settingsOf(subagent: Subagent, settings: Partial<AgentSettings>): Partial<AgentSettings> {
  const { maxIterations, temperature, maxOutputTokens } = subagent;
  return {
    ...settings,
    ...(maxIterations === undefined ? {} : { maxIterations }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  };
}

/** Hides the hooks of a shared capability that its owner runs: installation, closing and tools. */
const WITHHELD: ReadonlySet<PropertyKey> = new Set<keyof Capability>(['tools', 'install', 'close']);

/** A capability of one agent as part of another: the same hooks, on the same object. */
function shareCapability(capability: Capability): Capability {
  return new Proxy(capability, {
    get(target, property) {
      if (WITHHELD.has(property)) return undefined;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
