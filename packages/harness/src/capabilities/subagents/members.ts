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
import { authorize } from '../../loop/clearance.js';
import { keptBy, NARROWING, narrowing } from '../permissions/permissions.js';
import { NAME, type TaskRunner } from './tasks.js';

const modelSchema = z.union([z.string().min(1), having<Model>('generate', 'a Model or the name of one')]);

export const definitionSchema = subagentFileSchema.extend({
  /** A model, or a name in `models`. Default: the parent's. */
  model: modelSchema.optional(),
  /** Models, or names in `models`, that take over when its own fails for good. Default: those of the parent. */
  fallback: z.array(modelSchema).readonly().optional(),
  /** Settings such as `checkpoint`, ahead of those that all subagents have. */
  settings: ownSettingsSchema.optional(),
  /** Names of the parent's capabilities that it goes without. What they object to still holds. */
  without: z.array(z.string()).readonly().default([]),
  /** Capabilities, with their tools, that it has beside the parent's, or instead of those of the same names. They are closed with the parent. */
  capabilities: z.array(having<Capability>('name', 'a Capability')).readonly().default([]),
});

/** A subagent, as code declares it. */
export type SubagentDefinition = Readonly<z.input<typeof definitionSchema>>;

export type Subagent = Readonly<z.output<typeof definitionSchema>> & {
  /** The text of the file that defines it; none for one of the program. */
  readonly source?: string;
};

/** The configuration of `subagents()`. */
export const subagentsConfigSchema = z.strictObject({
  /** A folder of the workspace with one Markdown file a subagent; empty: none is read. */
  folder: z.string().default('subagents'),
  /** Adds a subagent for any task, named `general-purpose`. */
  generalPurpose: z.boolean().default(true),
  /** Levels of subagents below the agent; 1: subagents have none of their own. */
  maxDepth: z.int().min(1).max(5).default(2),
  /** Tasks of one session that may run at a time. */
  maxRunning: z.int().min(1).default(8),
  /** Milliseconds that a tool waits for a subagent, unless the model says otherwise, before it continues in the background. */
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
    const ofFiles = loaded.subagents.map((each): Subagent => ({ ...each, without: [], capabilities: [] }));
    const subagents = new Map([...declared, ...ofFiles].map((each) => [each.name, each]));
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

  async close(options: CloseOptions): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.close(options)));
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

/** Takes a subagent's settings instead of those for all. */
function settingsOf({ settings, maxIterations, maxOutputTokens, temperature }: Subagent) {
  const own = Object.entries({ maxIterations, maxOutputTokens, temperature });
  return { ...settings, ...Object.fromEntries(own.filter(([, value]) => Number.isFinite(value))) };
}

/** What a team above does for a definition's capability. */
const OWNED_ABOVE: readonly PropertyKey[] = ['install', 'close'] satisfies (keyof Capability)[];
/** What the parent does for its own: its judgment is asked for by {@link inheritance}. */
const FROM_PARENT: readonly PropertyKey[] = [
  ...OWNED_ABOVE,
  'authorize',
  'unattended',
  'confine',
  'deniesFiles',
];

const INHERITANCE = 'subagent_inheritance';

/** The parent of a subagent's call; a key of the runtime context. */
export class Parent {
  readonly above: Parent | undefined;
  /** The states of the parent that judge, the present one first: of the others only what they deny counts. */
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
 * Judges every call of a subagent as if its parent made it, by all capabilities of the parent and in the parent's state of
 * that moment: the subagent's own parts can only object to more. Also tells the parent what the subagent uses up, and the
 * subagent that plan mode is on.
 */
function inheritance({ name, capabilities }: ComposedAgent): Capability {
  /** A scope as that of the parent's own call, in each of its states that judge. */
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
    // What capabilities keep of a session counts for both: a call that either of them had may rule out another.
    return authorize(judges, call, scope);
  };
  return {
    name: INHERITANCE,
    async authorize(call, scope) {
      const [present, ...before] = await inherited(scope);
      if (present === undefined) {
        return { type: 'deny', reason: 'What the parent of this subagent may do is not known here.' };
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
    observe(event, { runtime, model }) {
      const parent = runtime.get(Parent);
      if (event.type === 'usage.reported') parent?.used(event.modelId, event.usage);
      if (event.type === 'model.completed' && event.usage) parent?.used(model.id, event.usage);
    },
  };
}

/** The runtime context of a parent's own call, in which its parent is the one above it. */
function runtimeOf(parent: Parent | undefined, { runtime }: CallScope): RuntimeContext {
  const builder = RuntimeContext.builder(runtime);
  return (parent?.above === undefined ? builder : builder.put(Parent, parent.above)).build();
}
