import {
  type AgentEvent,
  type Capability,
  estimateCounter,
  type Isolation,
  type Model,
  SessionKey,
  type SessionStore,
  storageOf,
  type TokenCounter,
  type Tool,
  type Workspace,
} from '@x/core';
import { type Issue, isObject, parseWith } from '@x/core/internal';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { keptBy, type Narrowing, narrowing } from '../capabilities/permissions/permissions.js';
import { HarnessConfigError, issuesOf } from '../errors/harness-config-error.js';
import { isWorthAnother, type ModelFailure, type ModelFallback } from '../loop/model-fallback.js';
import { type AgentParts, type AgentSettings, settingsSchema } from './agent-parts.js';
import { boundedStore, StoreLimit } from './bounded-store.js';
import { finiteLimits, type Limits } from './limits.js';
import { partsSchema } from './part-schemas.js';

const UNSHARED =
  'Other machines can open the sessions, but not the files of this workspace or its storage. If you use several machines, use a shared ' +
  'workspace, such as RedisWorkspace. If you use one, start Node with --disable-warning=workspace_not_shared.';

/** Collects the parts of an agent. Only {@link HarnessAgentBuilder.build} validates them. `HarnessAgent.builder()` returns a builder. */
export class HarnessAgentBuilder<Agent> {
  readonly #create: (parts: AgentParts) => Agent;
  readonly #settings: Record<string, unknown> = {};
  /** The parts as passed, by the names of their methods. */
  readonly #given = {
    model: undefined as Model | undefined,
    fallback: [] as readonly Model[],
    fallbackWhen: isWorthAnother as ModelFallback['when'],
    tools: [] as Tool[],
    capabilities: [] as Capability[],
    narrow: {} as Narrowing,
    workspace: './workspace' as string | Workspace,
    storage: undefined as Workspace | undefined,
    session: undefined as SessionStore | undefined,
    tokenCounter: estimateCounter,
    onEvent: [] as ((event: AgentEvent) => void)[],
  };

  /** @internal Use `HarnessAgent.builder()`. */
  constructor(create: (parts: AgentParts) => Agent) {
    this.#create = create;
  }

  /** Names the agent. The name is part of every session's key, so an agent with another name has other sessions. Default `agent`. */
  name(name: string): this {
    return this.settings({ name });
  }

  /** Sets the beginning of the system prompt. Capabilities append sections. Default empty. */
  systemPrompt(systemPrompt: string): this {
    return this.settings({ systemPrompt });
  }

  /**
   * Sets the model and its fallbacks, in order. If the model fails after its retries and `fallbackWhen` returns true, the next fallback
   * takes over for the rest of the call. If the agent has `compaction()`, the history is first made to fit the window of the fallback.
   */
  model(
    model: Model,
    options: {
      readonly fallback?: readonly Model[] | undefined;
      /**
       * Default: outages, rate limits, exhausted quotas, rejected keys, and requests that are too large if the next model has a larger
       * window.
       */
      readonly fallbackWhen?: ((failure: ModelFailure) => boolean | Promise<boolean>) | undefined;
    } = {},
  ): this {
    const { fallback = [], fallbackWhen = isWorthAnother } = optionsOf(options, 'model');
    Object.assign(this.#given, { model, fallback, fallbackWhen });
    return this;
  }

  /**
   * Adds tools, in order, before those of the capabilities. Repeated calls add more. {@link HarnessAgentBuilder.build} rejects duplicate
   * tool names and tools that are both `readOnly` and `destructive`.
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
    this.#given.tools.push(...tools);
    return this;
  }

  /** Sets the files that the agent works on: a path, or any workspace. Default `./workspace`. */
  workspace(workspace: string | Workspace): this {
    this.#given.workspace = workspace;
    return this;
  }

  /**
   * Sets the storage of the agent's own files, in a directory `.x/`: logs, memory, tasks, evicted results, plans and, by default, sessions.
   * Tools can read those of the call's user, except sessions, but cannot change them. Default: the workspace.
   */
  storage(storage: Workspace): this {
    this.#given.storage = storage;
    return this;
  }

  /** Shares sessions, leases and files with other machines through one backend, such as `redisBackend` of `@x/session-redis`. */
  distributed(backend: Pick<AgentParts, 'session' | 'workspace'>): this {
    const { session, workspace } = optionsOf(backend, 'distributed');
    return this.session(session).workspace(workspace);
  }

  /**
   * Sets which sessions share files. `user` (default): all sessions of a user; calls without a user work at the root. `session`: none.
   * `agent`: all sessions of an agent in a tenant. `shared`: all sessions, for example for a coding agent on one checkout.
   */
  isolation(isolation: Isolation): this {
    return this.settings({ isolation });
  }

  /** Sets the session store. The agent never closes it. Default: a `WorkspaceSession` in the storage. */
  session(store: SessionStore): this {
    this.#given.session = store;
    return this;
  }

  /**
   * Adds capabilities, outermost first unless their `before` and `behind` change the order. Names must be unique and in snake_case. A
   * `CapabilityRegistry` loads capabilities by name.
   */
  use(...capabilities: readonly Capability[]): this {
    this.#given.capabilities.push(...capabilities);
    return this;
  }

  /**
   * Restricts the tools: keeps only those that `tools` names (a name may end in `*`), and denies calls that match a rule of `deny`, even if
   * `permissions` allow them. The restrictions also apply to subagents. The last call of `narrow` wins.
   */
  narrow(narrowing: Narrowing): this {
    this.#given.narrow = narrowing;
    return this;
  }

  /** Limits the reasoning steps of one call, which then ends with `max_iterations`. Default 50. */
  maxIterations(maxIterations: number): this {
    return this.settings({ maxIterations });
  }

  /**
   * Sets when a running call stores its session. `effect` (default): before and after every tool that changes something, so that the stored
   * session lists every tool that may have run before a crash. `step`: also after every step. `call`: only at the end of a call.
   */
  checkpoint(checkpoint: 'effect' | 'step' | 'call'): this {
    return this.settings({ checkpoint });
  }

  /**
   * Sets what happens if two writers store one session. With `fail` (default) the later call fails with a `SessionConflictError`; with
   * `merge` the messages of both are kept.
   */
  onConflict(onConflict: 'fail' | 'merge'): this {
    return this.settings({ onConflict });
  }

  /**
   * Sets the behavior of a call while another call uses the session, in this process or in a process that shares a store with leases. With
   * `queue` (default), the call waits at most `limits.queueMs` (600 000 ms). With `reject`, it fails with a `SessionLeaseError`.
   */
  turns(turns: 'queue' | 'reject'): this {
    return this.settings({ turns });
  }

  /** Sets the counter that measures the context for events. Default: the estimate of `@x/core`. */
  tokenCounter(counter: TokenCounter): this {
    this.#given.tokenCounter = counter;
    return this;
  }

  /**
   * Adds a listener for every event of every call. If the listener throws, its first error in a call is emitted as a `warning` event. If
   * every listener has failed and no reader follows the call, warnings become process warnings.
   */
  onEvent(listener: (event: AgentEvent) => void): this {
    this.#given.onEvent.push(listener);
    return this;
  }

  /** Sets several plain settings at once. Settings that are not passed keep their values. */
  settings(given: AgentSettings): this {
    const { limits, ...settings } = optionsOf(given, 'settings');
    Object.assign(this.#settings, settings);
    return limits === undefined ? this : this.limits(limits);
  }

  /**
   * Sets time limits in milliseconds, such as `{ modelIdleMs: 30_000, callMs: 600_000 }`; 0 or `Infinity` for no limit. Limits that are not
   * passed keep their values.
   */
  limits(limits: Limits): this {
    this.#settings.limits = {
      ...(this.#settings.limits as Limits),
      ...finiteLimits(optionsOf(limits, 'limits')),
    };
    return this;
  }

  /**
   * Builds the agent.
   *
   * @throws {HarnessConfigError} with one issue for every part that is missing, invalid or does not fit another.
   */
  build(): Agent {
    const issues: Issue[] = [];
    const settings = collect(issues, '', () => parseWith(settingsSchema, this.#settings, 'settings'));
    if (settings !== undefined)
      collect(issues, '', () => SessionKey.of({ agentId: settings.name, sessionId: 'any' }));
    if (this.#given.model === undefined)
      issues.push({ path: 'model', message: 'is missing; pass one with .model()' });
    collect(issues, '', () => parseWith(partsSchema, this.#given, 'parts'));
    if (issues.length > 0) throw new HarnessConfigError(issues);

    const { model, fallback, fallbackWhen: when, tools: own, narrow, tokenCounter: counter } = this.#given;
    const { workspace, storage, session } = this.#openPlaces(issues);
    const narrowed = collect(issues, '', () => narrowing(narrow, '', own)) ?? [];
    const capabilities = inOrder([...this.#given.capabilities, ...narrowed], issues);
    const tools = [...own, ...capabilities.flatMap((capability) => capability.tools ?? [])];
    const named = { capabilities, tools: tools.map(({ definition }) => definition) };
    for (const [path, parts] of Object.entries(named)) {
      const names = parts.map(({ name }) => name);
      issues.push(...duplicates(path, names));
    }
    for (const { definition, readOnly, destructive } of tools) {
      if (!readOnly || destructive !== true) continue;
      issues.push({
        path: 'tools',
        message: `"${definition.name}" is both readOnly and destructive; set only one of them`,
      });
    }

    if (issues.length > 0 || !settings || !model || !workspace || !storage || !session) {
      throw new HarnessConfigError(issues);
    }
    const keeps = keptBy(narrow.tools);
    return this.#create({
      ...{ settings, model, keeps, capabilities, workspace, storage, counter },
      fallback: { models: fallback, when },
      tools: tools.filter(({ definition }) => keeps(definition.name)),
      session: boundedStore(session, () => new StoreLimit(settings.limits.storeMs)),
      sessionWithin: (limit) => boundedStore(session, () => limit),
      listeners: this.#given.onEvent,
    });
  }

  /** Opens the workspace, the storage and the session store. */
  #openPlaces(issues: Issue[]) {
    const workspace = collect(issues, 'workspace', () => this.#openWorkspace());
    const storage =
      workspace && collect(issues, 'storage', () => storageOf(this.#given.storage ?? workspace));
    const session = storage && (this.#given.session ?? new WorkspaceSession(storage));
    if (session instanceof WorkspaceSession && session.workspace === workspace) {
      issues.push({
        path: 'session',
        message:
          "stores sessions among the agent's files, where tools can see them; omit it, or pass " +
          'new WorkspaceSession(storageOf(workspace))',
      });
    }
    if (workspace?.reach === 'cluster' && session && session.reach !== 'cluster') {
      issues.push({
        path: 'session',
        message:
          `keeps sessions in this ${session.reach} only, but the workspace is shared between machines, so another machine ` +
          'would see the files but not the sessions; use a shared store, such as RedisSession',
      });
    }
    const places = workspace && storage ? [storageOf(workspace), storage] : [];
    if (session?.reach === 'cluster' && places.some(({ reach }) => reach !== 'cluster'))
      process.emitWarning(UNSHARED, { code: 'workspace_not_shared' });
    return { workspace, storage, session };
  }

  #openWorkspace(): Workspace {
    if (typeof this.#given.workspace !== 'string') return this.#given.workspace;
    const workspace = new LocalWorkspace(this.#given.workspace);
    workspace.check();
    return workspace;
  }
}

/** Keeps the given order, except for capabilities that must precede or follow others. */
function inOrder(capabilities: readonly Capability[], issues: Issue[]): readonly Capability[] {
  const rest = [...capabilities];
  const ordered: Capability[] = [];
  while (rest.length > 0) {
    const free = rest.findIndex((one) => !rest.some((other) => other !== one && mustPrecede(other, one)));
    if (free === -1) {
      const names = rest.map(({ name }) => name).join(', ');
      const message = `circular order: each of ${names} must come before another`;
      issues.push({ path: 'capabilities', message });
      return capabilities;
    }
    ordered.push(...rest.splice(free, 1));
  }
  return ordered;
}

function mustPrecede(one: Capability, other: Capability): boolean {
  return Boolean(one.before?.includes(other.name) || other.behind?.includes(one.name));
}

/**
 * @param path Name of the builder's method, for the error.
 * @throws {HarnessConfigError} if the options are not an object, for callers without a type checker.
 */
function optionsOf<Options extends object>(options: Options, path: string): Options {
  if (isObject(options)) return options;
  throw new HarnessConfigError([{ path, message: `must be an object, not ${String(options)}` }]);
}

/** Runs `make`. If it throws, adds the error to the issues under `path` instead. */
function collect<T>(issues: Issue[], path: string, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    issues.push(...issuesOf(error, path));
    return undefined;
  }
}

function duplicates(path: string, names: readonly string[]): Issue[] {
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [...new Set(twice)].map((name) => ({ path, message: `"${name}" is a duplicate` }));
}
