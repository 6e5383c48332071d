import {
  type AgentEvent,
  type Capability,
  estimateCounter,
  InvalidInputError,
  type Isolation,
  type Model,
  SessionKey,
  type SessionStore,
  storageOf,
  type TokenCounter,
  type Tool,
  type Workspace,
  XError,
} from '@x/core';
import { type Issue, parseWith } from '@x/core/internal';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { keptBy, type Narrowing, narrowing } from '../capabilities/permissions/permissions.js';
import { HarnessConfigError } from '../errors/harness-config-error.js';
import { WarningLimit } from '../lib/warning-limit.js';
import { isWorthAnother, type ModelFailure, type ModelFallback } from '../loop/model-fallback.js';
import { type AgentParts, type AgentSettings, settingsSchema } from './agent-parts.js';
import { boundedStore, StoreLimit } from './bounded-store.js';
import { finiteLimits, type Limits } from './limits.js';

const UNSHARED = 'Machines share the sessions, but not the workspace: share it too, as RedisWorkspace does.';
const DEFAULT_WORKSPACE = './workspace';
const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

/**
 * Collects the parts of an agent. Nothing is checked before {@link HarnessAgentBuilder.build}, which checks all of it.
 * `HarnessAgent.builder()` makes one.
 */
export class HarnessAgentBuilder<Agent> {
  readonly #create: (parts: AgentParts) => Agent;
  readonly #settings: Record<string, unknown> = {};
  readonly #tools: Tool[] = [];
  readonly #capabilities: Capability[] = [];
  readonly #listeners: ((event: AgentEvent) => void)[] = [];
  #narrowing: Narrowing = {};
  #model: Model | undefined;
  #fallback: ModelFallback = { models: [], when: isWorthAnother };
  #workspace: string | Workspace = DEFAULT_WORKSPACE;
  #storage: Workspace | undefined;
  #session: SessionStore | undefined;
  #counter: TokenCounter = estimateCounter;

  /** @internal Use `HarnessAgent.builder()`. */
  constructor(create: (parts: AgentParts) => Agent) {
    this.#create = create;
  }

  /** Names the agent. The name is part of every session's key, so another name has other sessions. Default `agent`. */
  name(name: string): this {
    return this.settings({ name });
  }

  /** Sets the beginning of the system prompt. Capabilities add sections behind it. Default empty. */
  systemPrompt(systemPrompt: string): this {
    return this.settings({ systemPrompt });
  }

  /**
   * Sets the model, and the models that take over, in order, for the rest of a call. A model is given up when it failed
   * after its retries and `fallbackWhen` says so. An agent that compacts first makes the history fit the next window.
   */
  model(
    model: Model,
    options: {
      readonly fallback?: readonly Model[] | undefined;
      /**
       * Default: outages, rate limits, exhausted quotas and refused keys; a request that is too large, when the next
       * model has a larger window.
       */
      readonly fallbackWhen?: ((failure: ModelFailure) => boolean | Promise<boolean>) | undefined;
    } = {},
  ): this {
    this.#model = model;
    this.#fallback = { models: options.fallback ?? [], when: options.fallbackWhen ?? isWorthAnother };
    return this;
  }

  /**
   * Adds tools. They stand before those of the capabilities, in the order in which they are given; repeated calls add more.
   * {@link HarnessAgentBuilder.build} refuses two tools of one name, and one that is both `readOnly` and `destructive`.
   *
   * @example
   * ```ts
   * import { defineTool } from '@x/core';
   * import { HarnessAgent } from '@x/harness';
   * import { z } from 'zod';
   *
   * const add = defineTool({
   *   name: 'add',
   *   description: 'Adds two numbers',
   *   readOnly: true,
   *   input: z.strictObject({ a: z.number(), b: z.number() }),
   *   execute: ({ a, b }) => String(a + b),
   * });
   * const builder = HarnessAgent.builder().tools(add);
   * ```
   */
  tools(...tools: readonly Tool[]): this {
    this.#tools.push(...tools);
    return this;
  }

  /** Sets the place of the files that the agent works on: a path, or any workspace. Default `./workspace`. */
  workspace(workspace: string | Workspace): this {
    this.#workspace = workspace;
    return this;
  }

  /**
   * Sets the place of what the agent keeps for itself, in a directory `.x/` that its tools do not see: logs, memory, tasks,
   * evicted results, plans and, by default, sessions. Default: the workspace.
   */
  storage(storage: Workspace): this {
    this.#storage = storage;
    return this;
  }

  /** Shares sessions, turns and files with other machines by one backend, as `redisBackend` of `@x/session-redis` opens it. */
  distributed({ session, workspace }: Pick<AgentParts, 'session' | 'workspace'>): this {
    return this.session(session).workspace(workspace);
  }

  /**
   * Says who have their files in common: the sessions of a `user` (default; calls without one work at the root), one
   * `session`, all of an `agent` in a tenant, or all (`shared`): a coding agent on one checkout.
   */
  isolation(isolation: Isolation): this {
    return this.settings({ isolation });
  }

  /** Sets the session store. The agent never closes it. Default: a `WorkspaceSession` in the storage. */
  session(store: SessionStore): this {
    this.#session = store;
    return this;
  }

  /**
   * Adds capabilities, the first outermost unless their `before` and `behind` say otherwise. Their names are in snake_case, and
   * no two are the same. A `CapabilityRegistry` loads capabilities by name.
   */
  use(...capabilities: readonly Capability[]): this {
    this.#capabilities.push(...capabilities);
    return this;
  }

  /**
   * Takes tools away: all but those that `tools` names (a name may end in `*`), and calls that a rule of `deny` is about, whatever
   * `permissions` allow. What is taken from an agent its subagents do not have either. The last call counts.
   */
  narrow({ tools, deny = [] }: Narrowing): this {
    this.#narrowing = { tools, deny };
    return this;
  }

  /** Limits the reasoning steps of one call, which then ends with `max_iterations`. Default 50. */
  maxIterations(maxIterations: number): this {
    return this.settings({ maxIterations });
  }

  /**
   * Says when sessions are written, beside the beginning of a new one: `effect` (default) before and after every tool that changes something, so that a
   * process that dies leaves no doubt what it may have done; `step` after every step, too; `call` at a call's end alone.
   */
  checkpoint(checkpoint: 'effect' | 'step' | 'call'): this {
    return this.settings({ checkpoint });
  }

  /**
   * Decides between two writers of one session. With `fail` (default) the later call fails with a `SessionConflictError`;
   * with `merge` the turns of both are kept.
   */
  onConflict(onConflict: 'fail' | 'merge'): this {
    return this.settings({ onConflict });
  }

  /**
   * Decides about a call to a session that another call is using, here or in a process that shares a store with leases.
   * With `queue` (default) it waits at most `limits.queueMs` (600 000); with `reject` it fails with a `SessionLeaseError`.
   */
  turns(turns: 'queue' | 'reject'): this {
    return this.settings({ turns });
  }

  /** Sets the counter that measures the context for events. Default: the estimate of `@x/core`. */
  tokenCounter(counter: TokenCounter): this {
    this.#counter = counter;
    return this;
  }

  /**
   * Adds a listener for every event of every call. The first time that it throws, or rejects, in a call is an event `warning` for the
   * others. Such an event becomes a process warning where neither a sound listener nor a reader of the call's events is there. Of the
   * warnings of one source, listeners and the process get ten a minute, and then how many were left out.
   */
  onEvent(listener: (event: AgentEvent) => void): this {
    this.#listeners.push(listener);
    return this;
  }

  /** Sets several plain settings at once; those given before stay. */
  settings({ limits, ...settings }: AgentSettings): this {
    Object.assign(this.#settings, settings);
    return limits === undefined ? this : this.limits(limits);
  }

  /**
   * Sets milliseconds that waits may take, such as `{ modelIdleMs: 30_000, callMs: 600_000 }`; 0 or `Infinity` for no limit. Those
   * that are not given stay.
   */
  limits(limits: Limits): this {
    this.#settings.limits = { ...(this.#settings.limits as Limits), ...finiteLimits(limits) };
    return this;
  }

  /**
   * Builds the agent.
   *
   * @throws {HarnessConfigError} with one issue for every part that is missing, malformed or does not fit another.
   */
  build(): Agent {
    const issues: Issue[] = [];
    const settings = collect(issues, () => parseWith(settingsSchema, this.#settings, 'settings'));
    if (settings !== undefined)
      collect(issues, () => SessionKey.of({ agentId: settings.name, sessionId: 'any' }));
    const capabilities = this.#capabilities.map((entry, index) =>
      collect(issues, () => wellFormed(entry, `capabilities[${index}]`, CAPABILITY)),
    );
    for (const [index, capability] of capabilities.entries()) {
      if (capability === undefined || SNAKE_CASE.test(capability.name)) continue;
      issues.push({
        path: `capabilities[${index}].name`,
        message: `${quoted(capability.name)} is not in snake_case, which files use; rename it like "my_capability"`,
      });
    }
    if (this.#model === undefined) {
      issues.push({ path: 'model', message: 'is missing; pass one with .model()' });
    }
    for (const model of [this.#model, ...this.#fallback.models]) {
      if (model !== undefined) collect(issues, () => wellFormed(model, 'model', MODEL));
    }
    const { workspace, storage, session } = this.#openPlaces(issues);
    const own = this.#tools
      .map((tool, index) => collect(issues, () => wellFormed(tool, `tools[${index}]`, TOOL)))
      .filter((tool) => tool !== undefined);
    const keeps = keptBy(this.#narrowing.tools);
    const narrowed = collect(issues, () => narrowing(this.#narrowing, '', own)) ?? [];
    const found = inOrder([...capabilities.filter((it) => it !== undefined), ...narrowed], issues);
    const tools = [...own, ...found.flatMap((capability) => capability.tools ?? [])];
    const named = { capabilities: found, tools: tools.map(({ definition }) => definition) };
    for (const [path, parts] of Object.entries(named)) {
      const names = parts.map(({ name }) => name);
      issues.push(...duplicates(path, names));
    }
    for (const { definition, readOnly, destructive } of tools) {
      if (!readOnly || destructive !== true) continue;
      issues.push({
        path: 'tools',
        message: `"${definition.name}" is readOnly and destructive: what destroys does not only read; say one of them`,
      });
    }

    if (issues.length > 0 || !settings || !this.#model || !workspace || !storage || !session) {
      throw new HarnessConfigError(issues);
    }
    return this.#create({
      settings,
      model: this.#model,
      fallback: this.#fallback,
      tools: tools.filter(({ definition }) => keeps(definition.name)),
      keeps,
      capabilities: found,
      workspace,
      storage,
      session: boundedStore(session, () => new StoreLimit(settings.limits.storeMs)),
      sessionWithin: (limit) => boundedStore(session, () => limit),
      counter: this.#counter,
      listeners: this.#listeners,
      warnings: new WarningLimit(),
    });
  }

  /** Opens what the agent keeps files and sessions in. */
  #openPlaces(issues: Issue[]) {
    const workspace = collect(issues, () => this.#openWorkspace());
    const storage =
      workspace &&
      collect(issues, () => storageOf(wellFormed(this.#storage ?? workspace, 'storage', WORKSPACE)));
    const session =
      storage &&
      collect(issues, () =>
        this.#session === undefined
          ? new WorkspaceSession(storage)
          : wellFormed(this.#session, 'session', SESSION),
      );
    if (session instanceof WorkspaceSession && session.workspace === workspace) {
      issues.push({
        path: 'session',
        message:
          "keeps sessions among the agent's files, where its tools see them; leave it out, or pass " +
          'new WorkspaceSession(storageOf(workspace))',
      });
    }
    if (workspace?.reach === 'cluster' && session && session.reach !== 'cluster') {
      issues.push({
        path: 'session',
        message:
          `stores for this ${session.reach} alone, but the workspace is shared between machines: another machine ` +
          'would see the files and not the sessions; use a store that is shared too, such as RedisSession',
      });
    }
    if (session?.reach === 'cluster' && workspace && storageOf(workspace).reach !== 'cluster')
      process.emitWarning(UNSHARED, { code: 'workspace_not_shared' });
    return { workspace, storage, session };
  }

  #openWorkspace(): Workspace {
    if (typeof this.#workspace !== 'string') return wellFormed(this.#workspace, 'workspace', WORKSPACE);
    const workspace = new LocalWorkspace(this.#workspace);
    workspace.check();
    return workspace;
  }
}

type Kind = readonly [kind: string, members: readonly string[], remedy: string];

const CAPABILITY: Kind = [
  'a capability',
  ['name'],
  'pass an object with a name; a CapabilityRegistry loads one by its name',
];

const MODEL: Kind = ['a model', ['id', 'generate'], 'wrap that of a provider, for example with @x/ai-sdk'];
const TOOL: Kind = ['a tool', ['definition', 'run'], 'make one with defineTool of @x/core'];
const SESSION: Kind = ['a session store', ['load', 'commit'], 'pass one, such as new JsonSession(…)'];

const WORKSPACE: Kind = [
  'a workspace',
  ['read', 'write'],
  'pass a path, or one such as new LocalWorkspace(…)',
];

/** @throws {HarnessConfigError} saying what stands there instead: callers without types need to know. */
function wellFormed<Part>(part: Part, path: string, kind: Kind): Part {
  const message = malformedPart(part, kind);
  if (message !== undefined) throw new HarnessConfigError([{ path, message }]);
  return part;
}

/** Keeps the given order, but for capabilities that ask to stand before or behind others. */
function inOrder(capabilities: readonly Capability[], issues: Issue[]): readonly Capability[] {
  const rest = [...capabilities];
  const ordered: Capability[] = [];
  while (rest.length > 0) {
    const free = rest.findIndex((one) => !rest.some((other) => other !== one && mustPrecede(other, one)));
    if (free === -1) {
      const names = rest.map(({ name }) => name).join(', ');
      issues.push({ path: 'capabilities', message: `each of ${names} asks to stand before another of them` });
      return capabilities;
    }
    ordered.push(...rest.splice(free, 1));
  }
  return ordered;
}

function mustPrecede(one: Capability, other: Capability): boolean {
  return Boolean(one.before?.includes(other.name) || other.behind?.includes(one.name));
}

/** Runs `make`, and files what it throws as issues instead. */
function collect<T>(issues: Issue[], make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (InvalidInputError.isInstance(error)) issues.push(...error.issues);
    else if (HarnessConfigError.isInstance(error)) issues.push(...error.issues);
    else if (XError.isInstance(error)) issues.push({ path: 'workspace', message: error.message });
    else throw error;
    return undefined;
  }
}

function duplicates(path: string, names: readonly string[]): Issue[] {
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [...new Set(twice)].map((name) => ({ path, message: `"${name}" is there twice` }));
}

/** Says what was given in place of a part, and what to do about it. JavaScript callers have no type checker. */
function malformedPart(value: unknown, [kind, members, remedy]: Kind): string | undefined {
  const found = quoted(value);
  if (typeof value === 'function') {
    const isClass = /^class\b/.test(Function.prototype.toString.call(value));
    return isClass
      ? `${found} is a class, not ${kind}: pass new ${found}(…)`
      : `${found} is a function, not ${kind}: call it, and pass what it returns`;
  }
  if (typeof value !== 'object' || value === null) return `${found} is not ${kind}; ${remedy}`;
  if (value instanceof Promise) return `is a promise of ${kind}: await it first`;
  return members.every((member) => member in value) ? undefined : `is not ${kind}; ${remedy}`;
}

function quoted(value: unknown): string {
  if (typeof value === 'function') return value.name || 'it';
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
