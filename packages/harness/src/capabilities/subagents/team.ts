import { randomUUID } from 'node:crypto';
import {
  type AgentComposition,
  type AgentState,
  agentFiles,
  type CallScope,
  type Capability,
  RuntimeContext,
  SessionKey,
  systemClock,
  type ToolContext,
  type Workspace,
} from '@x/core';
import { type ComposedAgent, FilesOwner } from '../../agent/agent-parts.js';
import type { HarnessAgent } from '../../agent/harness-agent.js';
import { describeUnknown, nearNames, toolNamesOf } from '../../agent/tool-references.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { KeyedMutex } from '../../lib/keyed-mutex.js';
import { childAgent, InheritedContext, inheritedFrom, UsageSink } from './child-agent.js';
import { SessionTasks } from './session-tasks.js';
import {
  GENERAL_PURPOSE,
  type LoadedSubagents,
  loadSubagents,
  type Subagent,
} from './subagent-definition.js';
import { NAME, type SubagentsSettings, WITHHELD } from './subagents-config.js';
import { TaskDesk, type TaskOutcome } from './task-desk.js';
import {
  isEnded,
  isOpen,
  type TaskRecord,
  type TaskStatus,
  WorkspaceTaskRepository,
} from './task-repository.js';
import { LocalTaskRunner, type TaskOrder, type TaskRunner } from './task-runner.js';
import { workAt } from './work-at.js';

/** The subagents and tasks that one call of the parent knows of. */
export interface TeamSession {
  readonly scope: CallScope;
  readonly owner: SessionKey;
  readonly subagents: ReadonlyMap<string, Subagent>;
  readonly tasks: SessionTasks;
}

/** Work for a subagent. */
export interface GivenWork {
  readonly subagent: Subagent;
  readonly message: string;
  readonly agentId?: string | undefined;
}

/** The capability of one agent, and what is behind it. */
export interface SubTeam {
  readonly capability: Capability;
  readonly team: Team;
}

/** A subagent that was made, and those that it has itself. */
interface Member {
  readonly subagent: Subagent;
  readonly agent: HarnessAgent;
  readonly below: Team | undefined;
}

interface Installed {
  readonly agent: ComposedAgent;
  readonly desk: TaskDesk;
  readonly runner: TaskRunner;
}

/** The subagents of one agent: their definitions, the agents made of them, and their tasks. */
export class Team {
  readonly #declared: readonly Subagent[];
  readonly #settings: SubagentsSettings;
  readonly #isTop: boolean;
  readonly #nest: (() => SubTeam) | undefined;
  readonly #givers = new Map<string, CallScope>();
  readonly #turns = new KeyedMutex();
  readonly #sessions = new WeakMap<AgentState, Promise<TeamSession>>();
  readonly #members = new Map<string, Member>();
  readonly #outdated: HarnessAgent[] = [];
  #installed: Installed | undefined;

  /**
   * @param isTop Whether it serves the agent itself, and not one of its subagents.
   * @param nest Makes what subagents have that may have some of their own.
   */
  constructor(
    declared: readonly Subagent[],
    settings: SubagentsSettings,
    isTop: boolean,
    nest: (() => SubTeam) | undefined,
  ) {
    this.#declared = declared;
    this.#settings = settings;
    this.#isTop = isTop;
    this.#nest = nest;
  }

  install(agent: ComposedAgent): void {
    if (this.#installed !== undefined) {
      throw new HarnessConfigError([
        { path: 'capabilities', message: 'one subagents() serves one agent; make another for the second' },
      ]);
    }
    const { clock = systemClock, runner = new LocalTaskRunner(), ...settings } = this.#settings;
    const repository = settings.repository ?? new WorkspaceTaskRepository(agent.storage);
    const desk = new TaskDesk({
      ...settings,
      clock,
      runner,
      repository,
      work: (order, runtime, signal) => this.#work(order, runtime, signal),
      ended: (order, status) => this.#ended(order, status),
    });
    if (this.#isTop) refuseUnknown(agent, this.#declared, settings);
    this.#installed = { agent, desk, runner };
    try {
      // A definition in code that cannot be built is a mistake in code: it should show when the agent is built.
      for (const subagent of this.#declared) this.#memberFor(subagent);
    } catch (error) {
      this.#installed = undefined;
      throw error;
    }
    runner.attach(agent.name, (order, runtime) => desk.execute(order, runtime));
  }

  get desk(): TaskDesk {
    return this.#parts.desk;
  }

  get settings(): SubagentsSettings {
    return this.#settings;
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
  begin(session: TeamSession, given: GivenWork): Promise<string> {
    // One after the other, or calls of one step would all find room for one more.
    return this.#turns.run(session.owner.toString(), () => this.#begin(session, given));
  }

  async #begin(session: TeamSession, { subagent, message, agentId }: GivenWork): Promise<string> {
    const { scope, owner } = session;
    const records = await this.desk.list(owner);
    const running = records.filter(isOpen);
    if (running.length >= this.#settings.maxRunning) {
      throw new Error(
        `${running.length} tasks are running, which is the limit. Wait for one with wait_async_results, or cancel one.`,
      );
    }
    const busy = running.find((record) => record.agentId === agentId);
    if (busy !== undefined) {
      throw new Error(
        `${agentId} still works on ${busy.taskId}. Wait for it, or cancel it, then send again.`,
      );
    }
    // A message in place of a decision: what waited is denied in the subagent's session.
    const waiting = records.find((record) => record.agentId === agentId && record.status === 'waiting');
    if (waiting !== undefined) await this.desk.cancel(owner, waiting.taskId);
    this.#memberFor(subagent);
    // A stop of this session also stops its tasks, so no task may begin after it.
    scope.signal.throwIfAborted();
    return this.#submit(session, {
      taskId: `task-${shortId()}`,
      agentId: agentId ?? `${subagent.name}-${shortId()}`,
      subagent: subagent.name,
      message,
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
    for (const { taskId, agentId, subagent, task, status, waitsFor = [] } of await this.desk.list(
      session.owner,
    )) {
      const mine = Object.entries(decisions).filter(([id]) =>
        waitsFor.some((call) => call.approvalId === id),
      );
      if (status !== 'waiting' || mine.length === 0) continue;
      const order = { taskId, agentId, subagent, message: task, decisions: Object.fromEntries(mine) };
      taskIds.push(await this.#submit(session, order));
    }
    if (taskIds.length === 0) throw new Error('The subagent does not wait for approval any more.');
    return taskIds;
  }

  async #submit(
    { scope, owner, tasks }: TeamSession,
    given: Omit<TaskOrder, 'owner' | 'inherited'>,
  ): Promise<string> {
    const inherited = inheritedFrom(scope.state, scope.runtime);
    const order: TaskOrder = { ...given, owner: owner.toString(), inherited };
    // One that another process carries out never ends here.
    if (!this.#parts.runner.durable) this.#givers.set(order.taskId, scope);
    await this.desk.submit(order, scope.runtime);
    tasks.begun(order.taskId);
    const status = this.#parts.runner.durable ? 'pending' : 'running';
    scope.emit({ type: 'task.changed', taskId: order.taskId, subagent: order.subagent, status });
    return order.taskId;
  }

  async record(session: TeamSession, taskId: string): Promise<TaskRecord> {
    const records = await this.desk.list(session.owner);
    const record = records.find((candidate) => candidate.taskId === taskId);
    if (record !== undefined) return record;
    throw new Error(`There is no task "${taskId}" in this session. task_list shows those there are.`);
  }

  /**
   * Stops a task, in any process, and all tasks that its subagent gave to others, even when it has ended itself. Resolves to
   * false when it had ended already.
   */
  async cancel(owner: SessionKey, record: TaskRecord): Promise<boolean> {
    const wasOpen = !isEnded(record) && (await this.desk.cancel(owner, record.taskId));
    await this.#cancelBelow(owner, record);
    return wasOpen;
  }

  /** Stops all tasks of a session. */
  async cancelAll(owner: SessionKey): Promise<void> {
    // A subagent that may not give tasks to others never became its agent.
    if (this.#installed === undefined) return;
    await this.#turns.run(owner.toString(), async () => {
      for (const record of await this.desk.list(owner)) await this.cancel(owner, record);
    });
  }

  /** Cancels the work that a subagent gave to its own. A subagent that was never made in this process has none here. */
  async #cancelBelow(
    owner: SessionKey,
    { subagent, agentId }: Pick<TaskRecord, 'subagent' | 'agentId'>,
  ): Promise<void> {
    const { agent, below } = this.#members.get(subagent) ?? {};
    if (agent === undefined || below === undefined) return;
    const { tenantId, userId, sessionId } = owner.parts;
    const key = { tenantId, userId, agentId: agent.name, sessionId: sessionOf(sessionId, agentId) };
    await below.cancelAll(SessionKey.of(key));
  }

  /** Stops running tasks so that they can be resumed, and waits until that is recorded. */
  async close(): Promise<void> {
    await this.#installed?.runner.close(async () => {
      const agents = [...this.#members.values()].map(({ agent }) => agent);
      await Promise.all([...agents, ...this.#outdated].map((agent) => agent.close()));
    });
  }

  get #parts(): Installed {
    if (this.#installed === undefined) throw new Error('subagents() is not part of an agent yet.');
    return this.#installed;
  }

  async #open(scope: CallScope): Promise<TeamSession> {
    const { tenantId, userId, sessionId } = scope.state;
    const owner = SessionKey.of({ tenantId, userId, agentId: scope.agentId, sessionId });
    const { subagents, problems } = await this.#known(scope.workspace);
    for (const message of problems) scope.emit({ type: 'warning', source: 'subagents', message });
    const tasks = new SessionTasks(scope.state, await this.desk.list(owner));
    return { scope, owner, subagents, tasks };
  }

  /** By name; what code declares stands before what files do. */
  async #known(files: Workspace) {
    const { folder, generalPurpose } = this.#settings;
    const own = new Set([GENERAL_PURPOSE, ...this.#declared].map(({ name }) => name));
    const loaded: LoadedSubagents =
      folder === '' ? { subagents: [], problems: [] } : await loadSubagents(files, folder, own);
    const subagents = new Map([...this.#declared, ...loaded.subagents].map((each) => [each.name, each]));
    if (generalPurpose && !subagents.has(GENERAL_PURPOSE.name)) {
      subagents.set(GENERAL_PURPOSE.name, GENERAL_PURPOSE);
    }
    // A subagent's own team may lack what its definition left out.
    const tools = this.#isTop ? toolNamesOf(this.#parts.agent) : [];
    const unknown = this.#isTop ? [...subagents.values()].flatMap((each) => unknownToolsOf(each, tools)) : [];
    return { subagents, problems: [...loaded.problems, ...unknown] };
  }

  /** Lets a subagent carry out an order that was given here, or to another process with the same agent. */
  async #work(
    order: TaskOrder,
    runtime: RuntimeContext | undefined,
    signal: AbortSignal,
  ): Promise<TaskOutcome> {
    const owner = SessionKey.parse(order.owner);
    const files = runtime?.get(FilesOwner) ?? new FilesOwner(owner);
    const { subagents } = await this.#known(agentFiles(files.key, this.#parts.agent));
    const subagent = subagents.get(order.subagent);
    if (subagent === undefined) throw new Error(`There is no subagent named "${order.subagent}" any more.`);
    const { tenantId, userId, sessionId } = owner.parts;
    const giver = this.#givers.get(order.taskId);
    const usage = new UsageSink((modelId, usage) =>
      giver?.emit({ type: 'usage.reported', source: NAME, taskId: order.taskId, modelId, usage }),
    );
    const context = RuntimeContext.builder(runtime ?? RuntimeContext.of({ tenantId, userId }))
      .sessionId(sessionOf(sessionId, order.agentId))
      .put(FilesOwner, files)
      .put(InheritedContext, new InheritedContext(order.inherited))
      .put(UsageSink, usage)
      .build();
    const { agent } = this.#memberFor(subagent);
    try {
      return await workAt(agent, order, context, signal, (event) =>
        giver?.emit({ type: 'subagent.event', taskId: order.taskId, subagent: subagent.name, event }),
      );
    } finally {
      if (signal.aborted) await this.#cancelBelow(owner, order);
    }
  }

  #ended({ taskId, subagent }: TaskOrder, status: TaskStatus): void {
    this.#givers.get(taskId)?.emit({ type: 'task.changed', taskId, subagent, status });
    this.#givers.delete(taskId);
  }

  #memberFor(subagent: Subagent): Member {
    const known = this.#members.get(subagent.name);
    const { source } = subagent;
    if (known?.subagent === subagent || (source !== undefined && known?.subagent.source === source))
      return known;
    const parent = this.#parts.agent;
    const nested = this.#nest?.();
    const agent = childAgent(subagent, {
      parent,
      session: this.#settings.session ?? parent.session,
      settings: this.#settings,
      nested: nested?.capability,
      isOwner: this.#isTop,
    });
    // A file may have changed; tasks may still run by what it said before.
    if (known !== undefined) this.#outdated.push(known.agent);
    const member = { subagent, agent, below: nested?.team };
    this.#members.set(subagent.name, member);
    return member;
  }
}

/** Finds names of tools that the parent does not have: the subagent would go without them, or a rule do nothing, unnoticed. */
function unknownToolsOf({ name, tools = [], deny }: Subagent, known: readonly string[]): readonly string[] {
  const denied = deny.map((rule) => (typeof rule === 'string' ? rule.replace(/\(.*$/s, '') : rule.tool));
  const named = [
    ...tools.map((tool) => ['tools', tool] as const),
    ...denied.map((tool) => ['deny', tool] as const),
  ];
  return named
    .filter(([, tool]) => /^[\w.:-]+$/.test(tool) && ![...known, 'read', 'write'].includes(tool))
    .map(([list, tool]) => `${name}.${list}: ${describeUnknown(tool, nearNames(tool, known))}`);
}

/** @throws {HarnessConfigError} for capabilities to go without that the parent has not: the slip would hand them down. */
function refuseUnknown(
  { capabilities }: AgentComposition,
  declared: readonly Subagent[],
  { withhold }: Pick<SubagentsSettings, 'withhold'>,
): void {
  const known = [...capabilities.map(({ name }) => name), ...WITHHELD];
  const named = [
    ...withhold.map((name) => ['withhold', name] as const),
    ...declared.flatMap((each) => each.without.map((name) => [`${each.name}.without`, name] as const)),
  ];
  const issues = named
    .filter(([, name]) => !known.includes(name))
    .map(([path, name]) => ({
      path: `subagents.${path}`,
      message: `there is no capability named "${name}" (known: ${known.join(', ')})`,
    }));
  if (issues.length > 0) throw new HarnessConfigError(issues);
}

/** The session of a subagent, below that of its parent. */
function sessionOf(parent: string, agentId: string): string {
  return `${parent}/${agentId}`;
}

function shortId(): string {
  return randomUUID().slice(0, 8);
}
