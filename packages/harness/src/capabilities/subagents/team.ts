import { randomUUID } from 'node:crypto';
import {
  type AgentEvent,
  AgentState,
  type ApprovalDecision,
  agentFiles,
  type CallScope,
  type Capability,
  headOf,
  RuntimeContext,
  SessionKey,
  systemClock,
  type ToolContext,
  userMessage,
  type Workspace,
} from '@x/core';
import { type ComposedAgent, FilesOwner } from '../../agent/agent-parts.js';
import { boundedStore } from '../../agent/bounded-store.js';
import type { Decision, Reply } from '../../agent/call-options.js';
import type { HarnessAgent } from '../../agent/harness-agent.js';
import { limitsSchema } from '../../agent/limits.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { HarnessError } from '../../errors/harness-error.js';
import { Parent } from './inheritance.js';
import { memberAgent, refuseUnknown, unknownToolsOf } from './member-agent.js';
import { Runs } from './runs.js';
import { GENERAL_PURPOSE, loadSubagents, type Subagent } from './subagent-definition.js';
import { NAME, type SubagentsSettings } from './subagents-config.js';
import {
  type GivenTask,
  givenTasks,
  isOpen,
  keepTasks,
  type SubagentTask,
  type TaskEnding,
  type TaskStatus,
  taskKey,
} from './task.js';
import type { TaskOrder, TaskRunner } from './task-runner.js';

/** Characters of a message that a parent remembers. */
const TASK_CHARS = 300;
/** Milliseconds in which this process begins, or stores the end of, what it runs itself. */
const HANDOVER_MS = 10_000;
const GO_ON = 'agent_spawn with its id lets it go on.';

/** One call of the parent: its subagents, and the session whose state holds the tasks that it gave. */
export interface TeamSession {
  readonly scope: CallScope;
  readonly owner: SessionKey;
  readonly subagents: ReadonlyMap<string, Subagent>;
  /** The ends that the view of the present step tells. */
  showing: readonly SubagentTask[];
}

interface TeamOptions {
  readonly declared: readonly Subagent[];
  readonly settings: SubagentsSettings;
  /** The tree that it is part of; none for the team of the agent itself, whose tree begins here. */
  readonly runs?: Runs | undefined;
  /** Makes the capability of subagents that may have some of their own. */
  readonly nest?: ((runs: Runs) => Capability) | undefined;
}

/** The subagents of one agent: their definitions, the agents made of them, and the tasks that they are given. */
export class Team {
  readonly settings: SubagentsSettings;
  readonly #options: TeamOptions;
  /** The running call of each session, or the last one where tasks of it still run here. */
  readonly #scopes = new Map<string, { readonly scope: CallScope; isRunning: boolean }>();
  readonly #sessions = new WeakMap<AgentState, Promise<TeamSession>>();
  readonly #members = new Map<string, { readonly subagent: Subagent; readonly agent: HarnessAgent }>();
  /** Agents of files that have changed since. */
  readonly #outdated: HarnessAgent[] = [];
  #installed: { readonly agent: ComposedAgent; readonly runs: Runs } | undefined;

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
    const { declared, settings } = this.#options;
    if (this.#isTop) refuseUnknown(agent, declared, settings);
    const { storeMs } = limitsSchema.parse(settings.settings.limits ?? {});
    const { runs = new Runs(settings, boundedStore(agent.session, storeMs)) } = this.#options;
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
    const owner = this.#ownerOf(scope).toString();
    const entry = { scope, isRunning: true };
    this.#scopes.set(owner, entry);
    try {
      await call();
    } finally {
      entry.isRunning = false;
      this.#forget(owner);
    }
  }

  /** The subagents and tasks of a session, read once a call. */
  session(scope: CallScope): Promise<TeamSession> {
    const session = this.#sessions.get(scope.state) ?? this.#open(scope);
    this.#sessions.set(scope.state, session);
    return session;
  }

  /** Answers the session of a tool's call. */
  sessionOf(state: AgentState): Promise<TeamSession> {
    const scope = [...this.#scopes.values()].find((entry) => entry.scope.state === state)?.scope;
    return scope ? this.session(scope) : Promise.reject(new Error('Subagents work only within a call.'));
  }

  /** Gives a subagent work; `taskId` of one that has worked before goes on in its session. Resolves to the task. */
  begin(
    session: TeamSession,
    subagent: Subagent,
    message: string,
    taskId = `${subagent.name}-${randomUUID().slice(0, 8)}`,
  ): Promise<GivenTask> {
    const { scope, owner } = session;
    // One after the other, or calls of one step would all find room for one more.
    return this.runs.inTurn(owner, async () => {
      const news = await this.news(session);
      const running = news.filter(isOpen);
      if (running.some((task) => task.taskId === taskId)) {
        throw new Error(`${taskId} still works. Wait for it, or cancel it, then send again.`);
      }
      if (running.length >= this.settings.maxRunning) {
        throw new Error(
          `${running.length} tasks are running, which is the limit. Wait for one with wait_async_results, or cancel one.`,
        );
      }
      // A message in place of a decision: what waited is denied in the subagent's session.
      const waiting = news.find((task) => task.taskId === taskId && task.status === 'waiting');
      if (waiting !== undefined) await this.runs.cancel(owner, waiting);
      this.#memberFor(subagent);
      // A stop of this session also stops its tasks, so no task may begin after it.
      scope.signal.throwIfAborted();
      return this.#submit(session, { taskId, subagent: subagent.name, message });
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
  ): Promise<readonly GivenTask[]> {
    const submitted: GivenTask[] = [];
    for (const { waitsFor = [], taskId, subagent, task } of await this.news(session)) {
      const ids = waitsFor.map(({ approvalId }) => approvalId);
      const mine = Object.entries(decisions).filter(([id]) => ids.includes(id));
      if (mine.length === 0) continue;
      const work = { taskId, subagent, message: task, decisions: Object.fromEntries(mine) };
      submitted.push(await this.#submit(session, work));
    }
    if (submitted.length === 0) throw new Error('The subagent does not wait for approval any more.');
    return submitted;
  }

  /** Finds out what became of the tasks whose final end the model does not know. */
  news({ scope, owner }: TeamSession): Promise<readonly SubagentTask[]> {
    return this.runs.look(
      owner,
      givenTasks(scope.state).filter((task) => !isSettled(task)),
    );
  }

  /** Remembers that the model was told of these ends: the step that stores its answer stores that, too. */
  told({ scope: { state } }: TeamSession, ended: readonly SubagentTask[]): void {
    if (ended.length === 0) return;
    const status = new Map(ended.map((task) => [task.callId, task.status]));
    const tasks = givenTasks(state).map((task) => {
      const told = status.get(task.callId);
      return told === undefined ? task : { ...task, told };
    });
    keepTasks(state, tasks);
  }

  /** Stops running tasks so that they can be resumed, and waits until that is stored. */
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

  /**
   * Lets a subagent carry out an order that was given here, or to another process with the same agent. What an earlier process
   * began is gone on with, and what it finished is only read. Resolves to nothing when the agent closes first.
   */
  async work(order: TaskOrder, signal: AbortSignal): Promise<TaskEnding | undefined> {
    const owner = SessionKey.parse(order.owner);
    const { taskId, callId, message, decisions } = order;
    const giver = () => this.#scopes.get(order.owner)?.scope;
    const runtime = giver()?.runtime;
    const files = runtime?.get(FilesOwner) ?? new FilesOwner(owner);
    const { subagents } = await this.#known(agentFiles(files.key, this.#parts.agent));
    const subagent = subagents.get(order.subagent);
    if (subagent === undefined) throw new Error(`There is no subagent named "${order.subagent}" any more.`);
    const { tenantId, userId, sessionId } = taskKey(owner, order).parts;
    const parent = new Parent({
      above: runtime?.get(Parent),
      states: () => this.#statesOf(owner),
      used: (modelId, usage) =>
        giver()?.emit({ type: 'usage.reported', source: NAME, taskId, modelId, usage }),
    });
    const context = RuntimeContext.builder(runtime ?? RuntimeContext.of({ tenantId, userId }))
      .sessionId(sessionId)
      .put(FilesOwner, files)
      .put(Parent, parent)
      .build();
    const agent = this.#memberFor(subagent);
    try {
      const open = (await agent.state(context))?.permissionContext.pending?.map(({ id }) => id);
      // Of an order that is carried out again, the decisions may have been taken in.
      const given = Object.entries(decisions ?? {}).filter(([id]) => open?.includes(id));
      const taken = given.map(([id, decision]) => [id, toDecision(decision)] as const);
      const options = { signal, id: callId, decisions: Object.fromEntries(taken) };
      const events: AsyncGenerator<AgentEvent, Reply> = decisions
        ? agent.resumeStream(context, options)
        : agent.stream(userMessage(message, { id: callId }), context, { signal });
      for (;;) {
        const { done, value } = await events.next();
        if (done) return endingOf(value);
        await giver()?.emit({ type: 'subagent.event', taskId, subagent: subagent.name, event: value });
      }
    } catch (error) {
      if (HarnessError.isInstance(error) && error.code === 'agent_closed') return undefined;
      throw error;
    }
  }

  /** Tells of the end of a task that ran here. */
  ended({ taskId, subagent, owner }: TaskOrder, status: TaskStatus): void {
    this.#scopes.get(owner)?.scope.emit({ type: 'task.changed', taskId, subagent, status });
    this.#forget(owner);
  }

  get #isTop(): boolean {
    return this.#options.runs === undefined;
  }

  get #parts() {
    if (this.#installed === undefined) throw new Error('subagents() is not part of an agent yet.');
    return this.#installed;
  }

  #ownerOf({ agentId, state: { tenantId, userId, sessionId } }: CallScope): SessionKey {
    return SessionKey.of({ tenantId, userId, agentId, sessionId });
  }

  #forget(owner: string): void {
    const isNeeded = this.#scopes.get(owner)?.isRunning || this.runs.isBusy(owner);
    if (!isNeeded) this.#scopes.delete(owner);
  }

  async #submit(
    { scope, owner }: TeamSession,
    work: Omit<TaskOrder, 'owner' | 'callId'>,
  ): Promise<GivenTask> {
    const { reach, lease } = this.#parts.agent.session;
    const isElsewhere = this.runner !== undefined || (reach !== 'process' && lease === undefined);
    const { taskId, subagent, message } = work;
    const { clock = systemClock } = this.settings;
    const given: GivenTask = {
      taskId,
      subagent,
      task: headOf(message, TASK_CHARS),
      createdAt: new Date(clock.now()).toISOString(),
      callId: `task-${randomUUID()}`,
      begins: this.runner === undefined ? 'running' : 'pending',
      pendingMs: isElsewhere ? this.settings.pendingMs : HANDOVER_MS,
    };
    const { callId } = given;
    const others = givenTasks(scope.state).filter((task) => task.taskId !== taskId);
    let excess = others.length + 1 - this.settings.maxRecords;
    const kept = others.filter((task) => excess <= 0 || !isSettled(task) || excess-- <= 0);
    // The parent remembers the task before it begins, also where its process dies right then.
    keepTasks(scope.state, [...kept, given]);
    await scope.checkpoint(true);
    await this.runs.submit({ ...work, owner: owner.toString(), callId }, this);
    scope.emit({ type: 'task.changed', taskId, subagent, status: given.begins });
    return given;
  }

  /**
   * The states of the parent that judge a subagent's call, the present one first: that of the running call, else the stored one.
   * Between calls the last one known here counts too, since what it denies may not be stored yet.
   */
  async #statesOf(owner: SessionKey): Promise<readonly AgentState[]> {
    const { scope, isRunning } = this.#scopes.get(owner.toString()) ?? {};
    if (scope !== undefined && isRunning) return [scope.state];
    const stored = await this.#parts.agent.session.load(owner, { last: 1 });
    const present = stored === undefined ? [] : [AgentState.fromParts(stored.head, [])];
    return scope === undefined ? present : [...present, scope.state];
  }

  async #open(scope: CallScope): Promise<TeamSession> {
    const { subagents, problems } = await this.#known(scope.workspace);
    for (const message of problems) scope.emit({ type: 'warning', source: NAME, message });
    return { scope, owner: this.#ownerOf(scope), subagents, showing: [] };
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
    // Their names stay taken: no file may pass for one that the program hides.
    for (const { name, hidden } of [...subagents.values()]) if (hidden) subagents.delete(name);
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

/** Tells whether the model knows the final end of a task. */
function isSettled({ told }: GivenTask): boolean {
  return told !== undefined && told !== 'waiting';
}

function toDecision(decision: ApprovalDecision): Decision {
  if (decision.type !== 'deny') return decision;
  return { type: 'deny', ...(decision.message === '' ? {} : { reason: decision.message }) };
}

function endingOf({ stopReason, text: result, steps, pendingCalls }: Reply): TaskEnding | undefined {
  if (stopReason === 'completed') return { status: 'completed', result };
  if (stopReason === 'permission_required') return { status: 'waiting', waitsFor: pendingCalls };
  if (stopReason === 'interrupted') return { status: 'cancelled', result };
  if (stopReason === 'shutdown') return undefined;
  const why: Partial<Record<typeof stopReason, string>> = {
    max_iterations: `It was stopped after ${steps} steps, as many as it may take. ${GO_ON}`,
    budget_exceeded: `It used up its budget. ${GO_ON}`,
  };
  return { status: 'failed', result, error: why[stopReason] ?? `It stopped: ${stopReason}. ${GO_ON}` };
}
