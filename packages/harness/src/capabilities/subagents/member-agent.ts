import type { Capability, Model } from '@x/core';
import type { AgentSettings, ComposedAgent } from '../../agent/agent-parts.js';
import { HarnessAgent } from '../../agent/harness-agent.js';
import { describeUnknown, nearTools, toolNamesOf } from '../../agent/tool-references.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { keptBy, NARROWING, narrowing } from '../permissions/permissions.js';
import { INHERITANCE, inheritance } from './inheritance.js';
import type { Subagent } from './subagent-definition.js';
import { NAME, type SubagentsSettings, WITHHELD } from './subagents-config.js';

/** Tools of the parent that no subagent gets: leaving plan mode is between the parent and its user. */
const NEVER_HANDED_DOWN = ['plan_enter', 'plan_write', 'plan_exit'];

interface MemberOptions {
  readonly parent: ComposedAgent;
  readonly settings: SubagentsSettings;
  /** The subagents of the subagent, where it may have some. */
  readonly nested: Capability | undefined;
  /** True when this agent installs and closes the capabilities in definitions; else a team above does. */
  readonly isOwner: boolean;
}

/**
 * Makes the agent of a subagent: what its parent is made of, less what its definition leaves out. What its parent may not do
 * it may not do either, whatever the definition says: see {@link inheritance}.
 *
 * @throws {HarnessConfigError} when the definition names what does not exist.
 */
export function memberAgent(subagent: Subagent, options: MemberOptions): HarnessAgent {
  const { parent, nested, settings } = options;
  const model = modelOf(subagent.model, `${subagent.name}.model`, options);
  const given = options.isOwner ? subagent.capabilities : subagent.capabilities.map(shareCapability);
  const without = new Set([NAME, INHERITANCE, NARROWING, ...settings.withhold, ...subagent.without]);
  for (const { name } of given) without.add(name);
  const shared = parent.capabilities.filter(({ name }) => !without.has(name));
  const ownTools = [
    ...subagent.ownTools,
    ...(options.isOwner ? [] : subagent.capabilities.flatMap((capability) => capability.tools ?? [])),
  ];
  // Its own before its parent's: a subagent of its own kind would be handed down what it has itself.
  const taken = new Set([...ownTools.map(({ definition }) => definition.name), ...NEVER_HANDED_DOWN]);
  const withheld = new Set(
    parent.capabilities.filter((each) => !shared.includes(each)).flatMap(({ tools = [] }) => tools),
  );
  const keeps = keptBy(subagent.tools);
  const handedDown = parent.tools.filter(
    (tool) => !withheld.has(tool) && !taken.has(tool.definition.name) && keeps(tool.definition.name),
  );
  return HarnessAgent.builder()
    .name(`${parent.name}/${subagent.name}`)
    .systemPrompt(subagent.systemPrompt)
    .model(model, fallbackOf(subagent, model, options))
    .tools(...handedDown, ...ownTools)
    .workspace(parent.workspace)
    .storage(parent.storage)
    .isolation(parent.isolation)
    .session(parent.session)
    .use(inheritance(parent), ...shared.map(shareCapability), ...given)
    .use(...narrowing({ deny: subagent.deny }, `subagents.${subagent.name}.`))
    .use(...(nested !== undefined && keeps('agent_spawn') ? [nested] : []))
    .settings(settings.settings)
    .settings(settingsOf(subagent, settings.settings))
    .build();
}

/** @throws {HarnessConfigError} when the definition names a model that does not exist. */
function modelOf(
  model: Subagent['model'],
  path: string,
  { parent, settings: { models } }: MemberOptions,
): Model {
  if (model === undefined || model === 'inherit') return parent.model;
  if (typeof model !== 'string') return model;
  const found = models[model];
  if (found !== undefined) return found;
  const known = Object.keys(models).sort().join(', ') || 'none';
  throw new HarnessConfigError([
    {
      path: `subagents.${path}`,
      message: `there is no model named "${model}" (known: ${known}); add it to subagents(…, { models })`,
    },
  ]);
}

/** Lets the parent's fallback models take over where the child has none of its own: an outage hits both alike. */
function fallbackOf({ name, fallback }: Subagent, model: Model, options: MemberOptions) {
  const { models = [], when } = options.parent.fallback ?? {};
  const own = fallback?.map((each, index) => modelOf(each, `${name}.fallback[${index}]`, options));
  return {
    fallback: (own ?? models).filter((other) => other !== model),
    ...(when === undefined ? {} : { fallbackWhen: when }),
  };
}

/** Answers the settings of a definition; one in a file of the workspace only lowers limits. */
function settingsOf(subagent: Subagent, shared: Partial<AgentSettings>): Partial<AgentSettings> {
  const { maxIterations, temperature, maxOutputTokens, source } = subagent;
  const settings = { ...shared, ...subagent.settings };
  const limit = (own: number | undefined, given: number | undefined) =>
    source === undefined ? (own ?? given) : Math.min(own ?? Infinity, given ?? Infinity);
  const limits = {
    maxIterations: limit(
      maxIterations,
      settings.maxIterations ?? (source === undefined ? undefined : FILE_ITERATIONS),
    ),
    maxOutputTokens: limit(maxOutputTokens, settings.maxOutputTokens),
    temperature: temperature ?? settings.temperature,
  };
  const named = Object.entries(limits).filter(([, value]) => value !== undefined && value !== Infinity);
  return { ...subagent.settings, ...Object.fromEntries(named) };
}

/** Steps that a subagent of a file may take unless the settings of subagents say how many. */
const FILE_ITERATIONS = 50;

/** Hides what a capability does for its owner alone; what it authorizes is asked for by {@link inheritance}. */
const HIDDEN: ReadonlySet<PropertyKey> = new Set<keyof Capability>([
  'tools',
  'install',
  'close',
  'authorize',
]);

/** A capability of one agent as part of another: the same hooks, on the same object. */
function shareCapability(capability: Capability): Capability {
  return new Proxy(capability, {
    get(target, property) {
      if (HIDDEN.has(property)) return undefined;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Finds names of tools that the parent does not have: the subagent would go without them, or a rule do nothing, unnoticed. */
export function unknownToolsOf(subagents: readonly Subagent[], parent: ComposedAgent): readonly string[] {
  const known = toolNamesOf(parent);
  return subagents.flatMap(({ name, tools = [], deny }) => {
    const denied = deny.map((rule) => (typeof rule === 'string' ? rule.replace(/\(.*$/s, '') : rule.tool));
    return Object.entries({ tools, deny: denied }).flatMap(([list, names]) =>
      names
        .filter((tool) => /^[\w.:-]+$/.test(tool) && ![...known, 'read', 'write'].includes(tool))
        .map((tool) => `${name}.${list}: ${describeUnknown(tool, nearTools(tool, known))}`),
    );
  });
}

/** @throws {HarnessConfigError} for capabilities to go without that the parent has not: the slip would hand them down. */
export function refuseUnknown(
  { capabilities }: ComposedAgent,
  declared: readonly Subagent[],
  { withhold }: SubagentsSettings,
): void {
  const known = [...capabilities.map(({ name }) => name), ...WITHHELD];
  const lists = [
    ['withhold', withhold] as const,
    ...declared.map((each) => [`${each.name}.without`, each.without] as const),
  ];
  const issues = lists.flatMap(([path, names]) =>
    names
      .filter((name) => !known.includes(name))
      .map((name) => ({
        path: `subagents.${path}`,
        message: `there is no capability named "${name}" (known: ${known.join(', ')})`,
      })),
  );
  if (issues.length > 0) throw new HarnessConfigError(issues);
}
