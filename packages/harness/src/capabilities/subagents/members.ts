import {
  AgentState,
  type CallScope,
  type Capability,
  type Model,
  RuntimeContext,
  type Tool,
  type ToolScope,
  type ToolUseBlock,
  type Usage,
  type Workspace,
} from '@x/core';
import { allOf, type Clock, having } from '@x/core/internal';
import * as z from 'zod';
import { type AgentSettings, type ComposedAgent, ownSettingsSchema } from '../../agent/agent-parts.js';
import { type CloseOptions, HarnessAgent } from '../../agent/harness-agent.js';
import { share } from '../../agent/share-capability.js';
import { unknownTools } from '../../agent/tool-references.js';
import { loadSubagents, subagentFileSchema } from '../../config/subagent-files.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { AnswerUsage } from '../../lib/answer-usage.js';
import { authorize } from '../../loop/clearance.js';
import { keptBy, NARROWING, narrowing } from '../permissions/permissions.js';
import { NAME, type TaskRunner } from './tasks.js';

const modelSchema = z.union([z.string().min(1), having<Model>('generate', 'a Model or the name of one')]);

export const definitionSchema = subagentFileSchema.extend({
  /** A model, or a name in `models`. Default: the parent's model. */
  model: modelSchema.optional(),
  /** Fallback models, or names in `models`, for when its own model fails permanently. Default: the parent's. */
  fallback: z.array(modelSchema).readonly().optional(),
  /** Settings such as `checkpoint`. They override the settings that apply to all subagents. */
  settings: ownSettingsSchema.optional(),
  /** Names of the parent's capabilities to leave out. Their objections to calls still apply. */
  without: z.array(z.string()).readonly().default([]),
  /**
   * Additional capabilities with their tools. They replace the parent's capabilities of the same name and close with
   * the parent.
   */
  capabilities: z.array(having<Capability>('name', 'a Capability')).readonly().default([]),
});

/** A subagent that is defined in code. */
export type SubagentDefinition = Readonly<z.input<typeof definitionSchema>>;

export type Subagent = Readonly<z.output<typeof definitionSchema>> & {
  /** Text of the file that defines the subagent. Omitted for a subagent that is defined in code. */
  readonly source?: string;
};

/** The configuration of `subagents()`. */
export const subagentsConfigSchema = z.strictObject({
  /** A folder of the workspace with one Markdown file per subagent. An empty string reads none. */
  folder: z.string().default('subagents'),
  /** Adds `general-purpose`, a subagent for any task. */
  generalPurpose: z.boolean().default(true),
  /** Levels of subagents below the agent. With 1, subagents cannot have subagents. */
  maxDepth: z.int().min(1).max(5).default(2),
  /** Maximum number of tasks of one session that run at the same time. */
  maxRunning: z.int().min(1).default(8),
  /**
   * Milliseconds that a tool waits for a subagent before the task continues in the background. The model can override
   * it.
   */
  timeoutMs: z.int().min(0).default(120_000),
  /** Milliseconds that a task may wait in the queue before it fails. */
  pendingMs: z.int().min(1).default(300_000),
  /** Milliseconds between polls of a task that runs in another process. */
  pollMs: z.int().min(1).default(500),
  /** Maximum number of tasks that a session keeps. The oldest tasks whose end the model has seen are removed first. */
  maxRecords: z.int().min(1).default(100),
  /** Queue that delivers tasks to other processes. Default: subagents run in this process. */
  runner: z.custom<TaskRunner>().optional(),
  /** Models that definitions can refer to, by name. */
  models: z.record(z.string(), z.custom<Model>()).default({}),
  /** Settings for every subagent, such as `limits`. Default: the agent's settings. */
  settings: z.custom<Partial<AgentSettings>>().default({}),
  clock: z.custom<Clock>().optional(),
});

export type SubagentsConfig = z.input<typeof subagentsConfigSchema>;
export type SubagentsSettings = z.output<typeof subagentsConfigSchema>;

/** Capabilities that no subagent inherits, because the parent's memory and history belong to the parent. */
const WITHHELD = ['memory', 'session_history'];
/** Tools that no subagent has, because plan mode concerns only the parent and its user. */
const OF_PARENT = ['plan_enter', 'plan_write', 'plan_exit'];

/** The built-in subagent: the parent's tools and capabilities with a separate context window. */
export const GENERAL_PURPOSE: Subagent = {
  name: 'general-purpose',
  description:
    'Works on any task with several steps in a separate context window: research, searches that take many attempts, ' +
    'changes that you can describe completely. Returns only its final answer.',
  systemPrompt:
    'You are a subagent: another agent gave you one task and reads only your final answer. Do the whole task, then ' +
    'answer with what was asked for: findings with paths and lines, what you changed, what is open. You cannot ask back.',
  ...{ deny: [], hidden: false, without: [], capabilities: [] },
};

/** Configuration of the subagents of one agent. */
export interface MembersOptions {
  readonly parent: ComposedAgent;
  readonly declared: readonly Subagent[];
  readonly settings: SubagentsSettings;
  /** Nesting level, from 1. Only subagents at level 1 install and close the capabilities in definitions. */
  readonly depth: number;
  /** Creates the `subagents` capability of a subagent. `undefined` at the deepest level. */
  readonly nest: (() => Capability) | undefined;
}

/** The subagent definitions of one agent, and the agents built from them. */
export class Members {
  readonly #options: MembersOptions;
  /** By name and source: running tasks keep the old definition when a file changes. */
  readonly #agents = new Map<string, HarnessAgent>();
  /** The parent's tools that do not come from a capability. */
  readonly #tools: readonly Tool[];

  /** @throws {HarnessConfigError} if a definition in code refers to a name that does not exist. */
  constructor(options: MembersOptions) {
    this.#options = options;
    const { tools, capabilities } = options.parent;
    const brought = capabilities.flatMap((capability) => capability.tools ?? []);
    this.#tools = tools.filter((tool) => !brought.includes(tool));
    // Report mistakes in code when the agent is built.
    if (options.depth === 1) for (const subagent of options.declared) this.agentOf(subagent);
  }

  /** Reads the available subagents, by name. Definitions in code take precedence over files. */
  async read(files: Workspace) {
    const { declared, settings, depth, parent } = this.#options;
    const { folder, generalPurpose, models, settings: limits } = settings;
    const taken = new Set([GENERAL_PURPOSE, ...declared].map(({ name }) => name));
    const loaded = await loadSubagents(files, folder, { taken, limits, models: Object.keys(models) });
    const ofFiles = loaded.subagents.map((each): Subagent => ({ ...each, without: [], capabilities: [] }));
    const subagents = new Map([...declared, ...ofFiles].map((each) => [each.name, each]));
    if (generalPurpose && !subagents.has(GENERAL_PURPOSE.name)) {
      subagents.set(GENERAL_PURPOSE.name, GENERAL_PURPOSE);
    }
    // Check only at the top level: a nested team may lack tools that its definition left out.
    const unknown = [...subagents.values()].flatMap(({ name, tools = [] }) =>
      depth > 1 ? [] : unknownTools(tools, parent).map((problem) => `${name}.tools: ${problem}`),
    );
    // Delete hidden subagents last, so that no file can reuse their names.
    for (const { name, hidden } of [...subagents.values()]) if (hidden) subagents.delete(name);
    return { subagents, problems: [...loaded.problems, ...unknown] };
  }

  /** @throws {HarnessConfigError} if the definition names an unknown model. */
  agentOf(subagent: Subagent): HarnessAgent {
    const key = JSON.stringify([subagent.name, subagent.source]);
    const agent = this.#agents.get(key) ?? memberAgent(subagent, this.#tools, this.#options);
    this.#agents.set(key, agent);
    return agent;
  }

  async close(options: CloseOptions): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.close(options)));
  }
}

/**
 * Creates the agent of a subagent from the parts of its parent, without those that its definition leaves out. A
 * subagent may never do what its parent may not do; see {@link inheritance}.
 */
function memberAgent(subagent: Subagent, own: readonly Tool[], options: MembersOptions): HarnessAgent {
  const { parent, settings, nest, depth } = options;
  const { name, capabilities, tools } = subagent;
  const find = (given: Subagent['model'], path: string) => modelOf(given, `${name}.${path}`, options);
  const model = find(subagent.model, 'model');
  // An outage of the parent's provider affects the subagent as well, so reuse the parent's fallback models.
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
  if (brought.some(({ definition }) => OF_PARENT.includes(definition.name))) {
    const message = 'subagents cannot have their own plan mode; they follow the plan mode of their parent';
    throw new HarnessConfigError([{ path: `subagents.${subagent.name}.capabilities`, message }]);
  }
  // The subagent's own tools and capabilities replace inherited ones of the same name.
  const taken = [...brought.map(({ definition }) => definition.name), ...OF_PARENT];
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

/**
 * Creates the capability that applies a definition's deny rules. Ignores nested teams when it checks tool names, so
 * that a typo fails.
 */
function denial({ name, deny }: Subagent): readonly Capability[] {
  return narrowing({ deny }, `subagents.${name}.`).map((rules) => ({
    ...rules,
    install: (agent) =>
      rules.install?.({ ...agent, capabilities: agent.capabilities.filter((each) => each.name !== NAME) }),
  }));
}

/** @throws {HarnessConfigError} if a definition names an unknown model. */
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

/** Returns the settings of one subagent, which override those for all. */
function settingsOf({ settings, maxIterations, maxOutputTokens, temperature }: Subagent) {
  const own = Object.entries({ maxIterations, maxOutputTokens, temperature });
  return { ...settings, ...Object.fromEntries(own.filter(([, value]) => Number.isFinite(value))) };
}

/** Hooks of a definition's capability that the top-level team runs. */
const OWNED_ABOVE: readonly PropertyKey[] = ['install', 'close'] satisfies (keyof Capability)[];
/** Hooks of the parent's capabilities that the parent runs. {@link inheritance} calls those that judge. */
const FROM_PARENT: readonly PropertyKey[] = [
  ...OWNED_ABOVE,
  'authorize',
  'unattended',
  'confine',
  'deniesFiles',
];

const INHERITANCE = 'subagent_inheritance';

/** The parent of a subagent's call. Also its key in the runtime context. */
export class Parent {
  readonly above: Parent | undefined;
  /** Returns the parent states whose permissions apply to a call, the current one first. From the others, only denials count. */
  readonly states: () => Promise<readonly AgentState[]>;
  /** Receives the usage of each model call. */
  readonly used: (modelId: string, usage: Usage) => void;

  constructor({ above, states, used }: Pick<Parent, 'above' | 'states' | 'used'>) {
    this.above = above;
    this.states = states;
    this.used = used;
  }
}

/**
 * Judges every call of a subagent as if the parent made it, with all capabilities of the parent and in the parent's
 * current state. The subagent's own capabilities can only add objections. Also reports the subagent's usage to the
 * parent, and passes the parent's plan mode on to the subagent.
 */
function inheritance({ name, capabilities }: ComposedAgent): Capability {
  const answers = new AnswerUsage();
  /** Returns the scope of the parent's own call, once for each parent state whose permissions apply. */
  const inherited = async <Scope extends CallScope>(scope: Scope): Promise<readonly Scope[]> => {
    const parent = scope.runtime.get(Parent);
    const states = (await parent?.states()) ?? [];
    return states.map((state) => ({ ...scope, agentId: name, state, runtime: runtimeOf(parent, scope) }));
  };
  const judge = (call: ToolUseBlock, scope: ToolScope, above: ToolScope) => {
    const { permissionContext, planModeContext } = above.state;
    const judges = [above, scope].map(({ state: { extensions } }): Capability => {
      const all = { ...scope.state.extensions, ...above.state.extensions, ...extensions };
      const head = { ...scope.state.head(), permissionContext, planModeContext, extensions: all };
      const state = AgentState.fromParts(head, scope.state.context);
      return { name, authorize: () => authorize(capabilities, call, { ...above, state }) };
    });
    // Use the extensions of both sessions, because an earlier call in either may rule out this one.
    return authorize(judges, call, scope);
  };
  return {
    name: INHERITANCE,
    async authorize(call, scope) {
      const [present, ...before] = await inherited(scope);
      if (present === undefined) {
        return { type: 'deny', reason: "The permissions of this subagent's parent are not known here." };
      }
      for (const above of before) {
        const objection = await judge(call, scope, above);
        if (objection?.type === 'deny') return objection;
      }
      return judge(call, scope, present);
    },
    async unattended(scope) {
      const scopes = await inherited(scope);
      const asked = scopes.flatMap((above) => capabilities.map((each) => each.unattended?.(above)));
      return (await Promise.all(asked)).includes(true);
    },
    confine:
      (scope) =>
      async (...file) => {
        const scopes = await inherited(scope);
        return allOf(scopes.flatMap((above) => capabilities.map((each) => each.confine?.(above))))?.(...file);
      },
    async deniesFiles(scope) {
      const scopes = await inherited(scope);
      const denied = scopes.flatMap((above) => capabilities.map((each) => each.deniesFiles?.(above) ?? []));
      return (await Promise.all(denied)).flat();
    },
    async remind(scope) {
      const present = (await inherited(scope))[0]?.state;
      if (present) scope.state.planModeContext = structuredClone(present.planModeContext);
      return [];
    },
    observe(event, { runtime, model, state }) {
      const parent = runtime.get(Parent);
      if (parent === undefined) return;
      if (event.type === 'usage.reported') parent.used(event.modelId, event.usage);
      const usage = answers.of(event, state);
      if (usage !== undefined) parent.used(model.id, usage);
    },
  };
}

/** Returns the runtime context of the parent's own call, which refers to the parent's parent. */
function runtimeOf(parent: Parent | undefined, { runtime }: CallScope): RuntimeContext {
  const builder = RuntimeContext.builder(runtime);
  return (parent?.above === undefined ? builder : builder.put(Parent, parent.above)).build();
}
