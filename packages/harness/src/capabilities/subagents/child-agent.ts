import {
  AgentState,
  type Capability,
  type JsonObject,
  type Model,
  type PermissionContext,
  type PlanModeContext,
  RuntimeContext,
  type SessionStore,
  type Usage,
} from '@x/core';
import picomatch from 'picomatch';
import type { AgentSettings, ComposedAgent } from '../../agent/agent-parts.js';
import { HarnessAgent } from '../../agent/harness-agent.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { authorize } from '../../loop/clearance.js';
import { permissions } from '../permissions/permissions.js';
import type { Subagent } from './subagent-definition.js';
import { NAME, type SubagentsSettings, TASK_TOOLS } from './subagents-config.js';

/** Tools of the parent that no subagent gets: leaving plan mode, for one, is between the parent and its user. */
const NEVER_HANDED_DOWN = [...TASK_TOOLS, 'plan_enter', 'plan_write', 'plan_exit'];
const INHERITANCE = 'subagent_inheritance';
const DENY = 'subagent_deny';

interface ChildAgentOptions {
  readonly parent: ComposedAgent;
  readonly session: SessionStore;
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
export function childAgent(subagent: Subagent, options: ChildAgentOptions): HarnessAgent {
  const { parent, nested, settings } = options;
  const model = modelOf(subagent, options);
  const given = options.isOwner ? subagent.capabilities : subagent.capabilities.map(shareCapability);
  const without = new Set([NAME, INHERITANCE, DENY, ...settings.withhold, ...subagent.without]);
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
  const mayUse = subagent.tools === undefined ? () => true : picomatch([...subagent.tools]);
  const handedDown = parent.tools.filter(
    (tool) => !withheld.has(tool) && !taken.has(tool.definition.name) && mayUse(tool.definition.name),
  );
  const denies = subagent.deny.length > 0;
  const builder = HarnessAgent.builder()
    .name(`${parent.name}/${subagent.name}`)
    .systemPrompt(subagent.systemPrompt)
    .model(model, fallbackOf(parent, model))
    .tools(...handedDown, ...ownTools)
    .workspace(parent.workspace)
    .storage(parent.storage)
    .isolation(parent.isolation)
    .session(options.session)
    .use(inheritance(parent), ...shared.map(shareCapability), ...given)
    .use(...(denies ? [{ ...permissions({ mode: 'bypass', deny: [...subagent.deny] }), name: DENY }] : []))
    .use(...(nested !== undefined && mayUse('agent_spawn') ? [nested] : []))
    .settings(settingsOf(subagent, settings.settings));
  if (settings.onEvent) builder.onEvent(settings.onEvent);
  return builder.build();
}

/** @throws {HarnessConfigError} when the definition names a model that does not exist. */
function modelOf({ name, model }: Subagent, { parent, settings: { models } }: ChildAgentOptions): Model {
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

/** A definition in a file only lowers limits. */
function settingsOf(subagent: Subagent, settings: Partial<AgentSettings>): Partial<AgentSettings> {
  const { maxIterations, temperature, maxOutputTokens, source } = subagent;
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
  return { ...settings, ...Object.fromEntries(named) };
}

/** Steps that a subagent of a file may take unless the settings of subagents say how many. */
const FILE_ITERATIONS = 50;

/** Hides what a capability does for its owner alone; what it authorizes is asked for by {@link inheritance}. */
const WITHHELD: ReadonlySet<PropertyKey> = new Set<keyof Capability>([
  'tools',
  'install',
  'close',
  'authorize',
]);

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

/** What judges a subagent's calls as its parent's: the state of the parent, and of the parent's parent. */
export class InheritedContext {
  readonly permissionContext: PermissionContext;
  readonly planModeContext: PlanModeContext;
  readonly extensions: AgentState['extensions'];
  readonly above: JsonObject | undefined;

  constructor(inherited: JsonObject) {
    // Written by `inheritedFrom`, perhaps in another process; it is validated where it judges.
    const { permissionContext, planModeContext, extensions, above } =
      inherited as unknown as InheritedContext;
    this.permissionContext = permissionContext;
    this.planModeContext = planModeContext;
    this.extensions = extensions;
    this.above = above;
  }
}

/** A receiver of the usage of a subagent's call, model call by model call; a key of the runtime context. */
export class UsageSink {
  readonly report: (modelId: string, usage: Usage) => void;

  constructor(report: (modelId: string, usage: Usage) => void) {
    this.report = report;
  }
}

/** Makes the context that a parent in this state hands down. */
export function inheritedFrom(state: AgentState, runtime: RuntimeContext): JsonObject {
  // The parent's pending approvals are its own.
  const { pending: _, ...permissionContext } = state.permissionContext;
  const { planModeContext, extensions } = state;
  const above = runtime.get(InheritedContext);
  return JSON.parse(JSON.stringify({ permissionContext, planModeContext, extensions, above })) as JsonObject;
}

/**
 * Judges every call of a subagent as if its parent made it, by all capabilities of the parent and in the parent's state: the
 * subagent's own parts can only object to more. Also tells the parent what the subagent uses up, and the subagent that plan
 * mode is on.
 */
function inheritance(parent: ComposedAgent): Capability {
  return {
    name: INHERITANCE,
    authorize(call, scope) {
      const inherited = scope.runtime.get(InheritedContext);
      if (inherited === undefined) {
        return { type: 'deny', reason: 'What the parent of this subagent may do is not known here.' };
      }
      const { permissionContext, planModeContext, above } = inherited;
      const extensions = { ...scope.state.extensions, ...inherited.extensions };
      const head = { ...scope.state.head(), permissionContext, planModeContext, extensions };
      const state = AgentState.fromParts(head, scope.state.context);
      const runtime = RuntimeContext.builder(scope.runtime);
      if (above !== undefined) runtime.put(InheritedContext, new InheritedContext(above));
      return authorize(parent.capabilities, call, {
        ...scope,
        agentId: parent.name,
        state,
        runtime: runtime.build(),
      });
    },
    async aroundCall({ runtime, state }, next) {
      const inherited = runtime.get(InheritedContext);
      if (inherited !== undefined) state.planModeContext = structuredClone(inherited.planModeContext);
      await next();
    },
    observe(event, { runtime, model }) {
      if (event.type === 'usage.reported') runtime.get(UsageSink)?.report(event.modelId, event.usage);
      else if (event.type === 'model.completed' && event.usage !== undefined) {
        runtime.get(UsageSink)?.report(model.id, event.usage);
      }
    },
  };
}
