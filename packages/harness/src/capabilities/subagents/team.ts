import { randomUUID } from 'node:crypto';
import {
  AgentState,
  agentFiles,
  type CallScope,
  type Capability,
  RuntimeContext,
  SessionKey,
  type ToolContext,
  type Workspace,
} from '@x/core';
import { type ComposedAgent, FilesOwner } from '../../agent/agent-parts.js';
import type { HarnessAgent } from '../../agent/harness-agent.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { Parent } from './inheritance.js';
import { memberAgent, refuseUnknown, unknownToolsOf } from './member-agent.js';
import { type RunHandler, Runs, runKey, type TaskOutcome } from './runs.js';
import { GENERAL_PURPOSE, loadSubagents, type Subagent } from './subagent-definition.js';
import { NAME, type SubagentsSettings } from './subagents-config.js';
import { isOpen, type TaskStatus } from './task-records.js';
import type { TaskOrder, TaskRunner } from './task-runner.js';
import { TeamSession } from './team-session.js';
import { workAt } from './work-at.js';

/** Work for a subagent. */
export interface GivenWork {
  readonly subagent: Subagent;
  readonly message: string;
  readonly agentId?: string | undefined;
}

interface TeamOptions {
  readonly declared: readonly Subagent[];
  readonly settings: SubagentsSettings;
  /** The tree that it is part of; none for the team of the agent itself, whose tree begins here. */
  readonly runs?: Runs | undefined;
  /** Makes the capability of subagents that may have some of their own. */
  readonly nest?: ((runs: Runs) => Capability) | undefined;
}

interface Installed {
  readonly agent: ComposedAgent;
  readonly runs: Runs;
}

/** The subagents of one agent: their definitions, the agents made of them, and the tasks that they are given. */
export class Team implements RunHandler {
  readonly settings: SubagentsSettings;
  readonly #options: TeamOptions;
  /** The last call of each session that gave a task which runs here, by task. */
  readonly #givers = new Map<string, CallScope>();
  readonly #calls = new Set<CallScope>();
  readonly #sessions = new WeakMap<AgentState, Promise<TeamSession>>();
  readonly #members = new Map<string, { readonly subagent: Subagent; readonly agent: HarnessAgent }>();
  /** Agents of files that have changed since. */
  readonly #outdated: HarnessAgent[] = [];
  #installed: Installed | undefined;

  constructor(options: TeamOptions) {
    this.#options = options;
    this.settings = options.settings;
  }

  get runner(): TaskRunner | undefined {
    return this.settings.runner;
  }

  get runs(): Runs {
    return this.#parts.runs;
  }

  install(agent: ComposedAgent): void {
    if (this.#installed !== undefined) {
      throw new HarnessConfigError([
        { path: 'capabilities', message: 'one subagents() serves one agent; make another for the second' },
      ]);
    }
    const { declared, settings, runs = new Runs(settings, agent.storage) } = this.#options;
    if (this.#isTop) refuseUnknown(agent, declared, settings);
    this.#installed = { agent, runs };
    try {
      // A definition in code that cannot be built is a mistake in code: it should show when the agent is built.
      for (const subagent of declared) this.#memberFor(subagent);
    } catch (error) {
      this.#installed = undefined;
      throw error;
    }
    this.runner?.attach(agent.name, (order) => runs.execute(order, this));
  }

  /** Runs a call of the agent, which its subagents are judged by while it runs. */
  async during(scope: CallScope, call: () => Promise<void>): Promise<void> {
    // A call that goes on with a decision runs tools before anything else.
    const { owner } = await this.session(scope);
    for (const [taskId, giver] of this.#givers) {
      if (this.#ownerOf(giver).equals(owner)) this.#givers.set(taskId, scope);
    }
    this.#calls.add(scope);
    try {
      await call();
    } finally {
      this.#calls.delete(scope);
    }
  }

  /** The subagents and tasks of a session, read once a call. */
  session(scope: CallScope): Promise<TeamSession> {
    const session = this.#sessions.get(scope.state) ?? this.#open(scope);
    this.#sessions.set(scope.state, session);
    return session;
  }

  /** Returns the subagents and tasks of a session to a tool, whose call has read them. */
  sessionOf(state: AgentState): Promise<TeamSession> {
    const session = this.#sessions.get(state);
    return session ?? Promise.reject(new Error('Subagents work only within a call of their agent.'));
  }

  /** Gives a subagent work; `agentId` of one that has worked before goes on in its session. Resolves to the task's id. */
  begin(session: TeamSession, { subagent, message, agentId }: GivenWork): Promise<string> {
    const { scope, owner } = session;
    // One after the other, or calls of one step would all find room for one more.
    return this.runs.inTurn(owner, async () => {
      const records = await this.runs.list(owner);
      const running = records.filter(isOpen);
      if (running.length >= this.settings.maxRunning) {
        throw new Error(
          `${running.length} tasks are running, which is the limit. Wait for one with wait_async_results, or cancel one.`,
        );
      }
      const mine = records.filter((record) => record.agentId === agentId);
      const busy = mine.find(isOpen);
      if (busy !== undefined) {
        throw new Error(
          `${agentId} still works on ${busy.taskId}. Wait for it, or cancel it, then send again.`,
        );
      }
      // A message in place of a decision: what waited is denied in the subagent's session.
      const waiting = mine.find(({ status }) => status === 'waiting');
      if (waiting !== undefined) await this.runs.cancel(owner, waiting);
      this.#memberFor(subagent);
      // A stop of this session also stops its tasks, so no task may begin after it.
      scope.signal.throwIfAborted();
      return this.#submit(session, {
        taskId: `task-${shortId()}`,
        agentId: agentId ?? `${subagent.name}-${shortId()}`,
        subagent: subagent.name,
        message,
      });
    });
  }

  /**
   * Lets subagents go on with what a human decided about their calls. Resolves to their tasks.
   *
   * @throws {Error} when none of them waits any more.
   */
  async decide(
    session: TeamSession,
    decisions: NonNullable<ToolContext['decisions']>,
  ): Promise<readonly string[]> {
    const taskIds: string[] = [];
    for (const record of await this.runs.list(session.owner)) {
      const { taskId, agentId, subagent, task: message, status, waitsFor = [] } = record;
      const mine = Object.entries(decisions).filter(([id]) =>
        waitsFor.some((call) => call.approvalId === id),
      );
      if (status !== 'waiting' || mine.length === 0) continue;
      const order = { taskId, agentId, subagent, message, decisions: Object.fromEntries(mine) };
      taskIds.push(await this.#submit(session, order));
    }
    if (taskIds.length === 0) throw new Error('The subagent does not wait for approval any more.');
    return taskIds;
  }

  /** Stops running tasks so that they can be resumed, and waits until that is recorded. */
  async close(): Promise<void> {
    if (this.#installed === undefined) return;
    const { agent, runs } = this.#installed;
    const stop = async () => {
      const agents = [...this.#members.values()].map((member) => member.agent);
      await Promise.all([...agents, ...this.#outdated].map((each) => each.close()));
    };
    await (this.runner === undefined ? stop() : this.runner.close(stop));
    await runs.settled(agent.name);
  }

  /** Lets a subagent carry out an order that was given here, or to another process with the same agent. */
  async work(order: TaskOrder, signal: AbortSignal): Promise<TaskOutcome> {
    const owner = SessionKey.parse(order.owner);
    const { taskId } = order;
    const runtime = this.#givers.get(taskId)?.runtime;
    const files = runtime?.get(FilesOwner) ?? new FilesOwner(owner);
    const { subagents } = await this.#known(agentFiles(files.key, this.#parts.agent));
    const subagent = subagents.get(order.subagent);
    if (subagent === undefined) throw new Error(`There is no subagent named "${order.subagent}" any more.`);
    const { tenantId, userId, sessionId } = runKey(owner, order).parts;
    const parent = new Parent({
      above: runtime?.get(Parent),
      states: () => this.#statesOf(order, owner),
      used: (modelId, usage) =>
        this.#scopeOf(taskId, owner)?.emit({ type: 'usage.reported', source: NAME, taskId, modelId, usage }),
    });
    const context = RuntimeContext.builder(runtime ?? RuntimeContext.of({ tenantId, userId }))
      .sessionId(sessionId)
      .put(FilesOwner, files)
      .put(Parent, parent)
      .build();
    const { name } = subagent;
    return workAt(this.#memberFor(subagent), order, context, signal, (event) =>
      this.#givers.get(taskId)?.emit({ type: 'subagent.event', taskId, subagent: name, event }),
    );
  }

  ended({ taskId, subagent }: TaskOrder, status: TaskStatus): void {
    this.#givers.get(taskId)?.emit({ type: 'task.changed', taskId, subagent, status });
    this.#givers.delete(taskId);
  }

  get #isTop(): boolean {
    return this.#options.runs === undefined;
  }

  get #parts(): Installed {
    if (this.#installed === undefined) throw new Error('subagents() is not part of an agent yet.');
    return this.#installed;
  }

  #ownerOf({ agentId, state: { tenantId, userId, sessionId } }: CallScope): SessionKey {
    return SessionKey.of({ tenantId, userId, agentId, sessionId });
  }

  async #submit(session: TeamSession, given: Omit<TaskOrder, 'owner' | 'inherited'>): Promise<string> {
    const { scope, owner } = session;
    const { taskId, subagent } = given;
    // The parent's pending approvals are its own.
    const { permissionContext, planModeContext, extensions } = scope.state.head();
    const inherited = { permissionContext, planModeContext, extensions } as TaskOrder['inherited'];
    // One that another process carries out never ends here.
    if (this.runner === undefined) this.#givers.set(taskId, scope);
    await this.runs.submit({ ...given, owner: owner.toString(), inherited }, this);
    session.begun(taskId);
    const status = this.runner === undefined ? 'running' : 'pending';
    scope.emit({ type: 'task.changed', taskId, subagent, status });
    return taskId;
  }

  /**
   * The states of the parent that judge a subagent's call, the present one first: that of the running call, else the stored one.
   * Between calls the last one known here counts too, since what it denies may not be stored yet.
   */
  async #statesOf({ taskId, inherited }: TaskOrder, owner: SessionKey): Promise<readonly AgentState[]> {
    const giver = this.#scopeOf(taskId, owner);
    if (giver !== undefined && this.#calls.has(giver)) return [giver.state];
    const { tenantId, userId, sessionId } = owner.parts;
    const identity = AgentState.create({ tenantId, userId, sessionId });
    const known = giver?.state ?? AgentState.fromParts({ ...identity.head(), ...inherited }, []);
    const stored = await this.#parts.agent.session.load(owner, { last: 1 });
    return stored === undefined ? [known] : [AgentState.fromParts(stored.head, []), known];
  }

  /** The owner's running call, else the call that gave the task. A task may have ended, and one that it gave go on. */
  #scopeOf(taskId: string, owner: SessionKey): CallScope | undefined {
    const running = [...this.#calls].find((scope) => this.#ownerOf(scope).equals(owner));
    return running ?? this.#givers.get(taskId);
  }

  async #open(scope: CallScope): Promise<TeamSession> {
    const owner = this.#ownerOf(scope);
    const { subagents, problems } = await this.#known(scope.workspace);
    for (const message of problems) scope.emit({ type: 'warning', source: NAME, message });
    return new TeamSession(scope, owner, subagents, await this.runs.list(owner));
  }

  /** By name; what code declares stands before what files do. */
  async #known(files: Workspace) {
    const { declared } = this.#options;
    const { folder, generalPurpose, models } = this.settings;
    const taken = new Set([GENERAL_PURPOSE, ...declared].map(({ name }) => name));
    const loaded = await loadSubagents(files, folder, { taken, models: Object.keys(models) });
    const subagents = new Map([...declared, ...loaded.subagents].map((each) => [each.name, each]));
    if (generalPurpose && !subagents.has(GENERAL_PURPOSE.name)) {
      subagents.set(GENERAL_PURPOSE.name, GENERAL_PURPOSE);
    }
    // A subagent's own team may lack what its definition left out.
    const unknown = this.#isTop ? unknownToolsOf([...subagents.values()], this.#parts.agent) : [];
    return { subagents, problems: [...loaded.problems, ...unknown] };
  }

  #memberFor(subagent: Subagent): HarnessAgent {
    const known = this.#members.get(subagent.name);
    const { source } = subagent;
    if (known?.subagent === subagent || (source !== undefined && known?.subagent.source === source)) {
      return known.agent;
    }
    const { agent: parent, runs } = this.#parts;
    const nested = this.#options.nest?.(runs);
    const agent = memberAgent(subagent, { parent, settings: this.settings, nested, isOwner: this.#isTop });
    // A file may have changed; tasks may still run by what it said before.
    if (known !== undefined) this.#outdated.push(known.agent);
    this.#members.set(subagent.name, { subagent, agent });
    return agent;
  }
}

function shortId(): string {
  return randomUUID().slice(0, 8);
}
