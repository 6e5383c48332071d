import { randomUUID } from 'node:crypto';
import {
  type AgentEvent,
  AgentState,
  ApprovalRequiredError,
  type CallScope,
  type Capability,
  defineTool,
  type Message,
  type ModelResponse,
  RuntimeContext,
  SessionKey,
  SessionLeaseError,
  type Tool,
  type ToolContext,
  userMessage,
} from '@x/core';
import { agentFiles, errorText, headOf, parseWith, redactSecrets, systemClock } from '@x/core/internal';
import * as z from 'zod';
import { type ComposedAgent, FilesOwner } from '../../agent/agent-parts.js';
import type { Reply } from '../../agent/call-options.js';
import type { CloseOptions } from '../../agent/harness-agent.js';
import { HarnessConfigError } from '../../errors/harness-config-error.js';
import { HarnessError } from '../../errors/harness-error.js';
import { Interruption } from '../../errors/interruption.js';
import { promptList } from '../../lib/prompt-list.js';
import {
  definitionSchema,
  Members,
  type MembersOptions,
  Parent,
  type Subagent,
  type SubagentDefinition,
  type SubagentsConfig,
  type SubagentsSettings,
  subagentsConfigSchema,
} from './members.js';
import {
  endingIn,
  type GivenTask,
  givenTasks,
  isEnded,
  isOpen,
  keepTasks,
  LOST,
  NAME,
  type SubagentTask,
  type TaskEnd,
  type TaskEnding,
  type TaskOrder,
  Tasks,
  taskKey,
  taskReport,
  tasksReminder,
  writeEnding,
} from './tasks.js';
import { UncountedUsage } from './uncounted-usage.js';

/** Limit in characters for the list of subagents in the system prompt. Any file of the workspace can add one. */
const MAX_LIST_CHARS = 20_000;
/** Characters of each task's message that the parent's state keeps. */
const TASK_CHARS = 300;
/** Milliseconds that this process has to start its own task, or to store how the task ended. Beyond it, the task counts as lost. */
const HANDOVER_MS = 10_000;
/** Longest wait in milliseconds that the model may request. */
const MOST_MS = 600_000;

const SUBJECT = 'subagents configuration';

/**
 * Lets the agent delegate tasks to subagents. A subagent inherits the agent's tools and capabilities, but has its own
 * context window, compaction and session. The agent's permissions and plan mode apply to every call of a subagent.
 * Subagents come from `definitions` and from Markdown files in `subagents/` of the workspace; `general-purpose` is
 * built in.
 *
 * The model waits for a task or lets it continue in the background. The subagent's session stores the outcome, and the
 * model is notified exactly once when a task ends.
 *
 * @example
 * ```ts
 * import { HarnessAgent, subagents, workspaceTools } from '@x/harness';
 *
 * const agent = HarnessAgent.builder()
 *   .model(model)
 *   .use(workspaceTools())
 *   .use(subagents([{ name: 'reviewer', description: 'Reviews a change.', systemPrompt: 'You review code.' }]))
 *   .build();
 * ```
 * @throws {InvalidInputError} for a malformed definition or configuration, naming the path of every bad field.
 */
export function subagents(
  definitions: readonly SubagentDefinition[] = [],
  config: SubagentsConfig = {},
): Capability {
  const given = z.object({ definitions: z.array(definitionSchema) });
  const { definitions: declared } = parseWith(given, { definitions }, SUBJECT);
  return new Team({ declared, settings: parseWith(subagentsConfigSchema, config, SUBJECT), depth: 1 });
}

/** One call of the parent, with its subagents and the session whose state holds its tasks. */
interface TeamCall {
  readonly scope: CallScope;
  readonly owner: SessionKey;
  readonly subagents: ReadonlyMap<string, Subagent>;
  /** Tasks that the reminder of the current step reports. */
  showing: readonly SubagentTask[];
  isRunning: boolean;
}

interface TeamOptions extends Omit<MembersOptions, 'parent' | 'nest'> {
  /** The tasks of the enclosing tree. Omitted for the team of the top-level agent, which starts a new tree. */
  readonly tasks?: Tasks | undefined;
}

/** Capability that gives tasks to subagents and runs them. */
class Team implements Capability {
  readonly name = NAME;
  readonly settings: SubagentsSettings;
  readonly #options: TeamOptions;
  readonly #tools: readonly Tool[];
  /** By session: the running call, or the last call while any of its tasks still run in this process. */
  readonly #calls = new Map<string, TeamCall>();
  readonly #uncounted = new UncountedUsage();
  readonly #opened = new WeakMap<AgentState, Promise<TeamCall>>();
  #installed: { readonly agent: ComposedAgent; readonly members: Members; readonly tasks: Tasks } | undefined;

  constructor(options: TeamOptions) {
    this.#options = options;
    this.settings = options.settings;
    this.#tools = teamTools(this);
  }

  /**
   * The tools of `subagents()`. This is a getter, because `ToolReferences` expects such a list to grow: a rule may name tools that only
   * subagents have.
   */
  get tools(): readonly Tool[] {
    return this.#tools;
  }

  install(agent: ComposedAgent): void {
    if (this.#installed !== undefined) {
      const message = 'subagents() is already part of another agent; create one for each agent';
      throw new HarnessConfigError([{ path: 'capabilities', message }]);
    }
    const { declared, settings, depth } = this.#options;
    const { pollMs, clock } = settings;
    const { tasks = new Tasks(agent.session, pollMs, agent.limits.outageMs, clock) } = this.#options;
    // Nested subagents run in the same process as their parent.
    const below = { declared, settings: { ...settings, runner: undefined }, depth: depth + 1, tasks };
    const nest = depth < settings.maxDepth ? () => new Team(below) : undefined;
    const members = new Members({ parent: agent, declared, settings, depth, nest });
    this.#installed = { agent, members, tasks };
    settings.runner?.attach(agent.name, (order) => this.#execute(order));
  }

  /** Runs a call of the agent. While the call runs, the permissions in its state apply to the subagents' calls. */
  async aroundCall(scope: CallScope, next: () => Promise<void>): Promise<void> {
    const call = await this.#open(scope);
    const owner = call.owner.toString();
    this.#calls.set(owner, call);
    call.isRunning = true;
    for (const used of this.#uncounted.take(owner))
      scope.emit({ type: 'usage.reported', source: NAME, ...used });
    try {
      await next();
    } finally {
      call.isRunning = false;
      this.#forget(owner);
    }
  }

  async system(scope: CallScope): Promise<string> {
    const { subagents } = await this.#open(scope);
    const lines = promptList([...subagents.values()], MAX_LIST_CHARS);
    return ['# Subagents', 'agent_spawn gives a task to one of these:', ...lines].join('\n');
  }

  async remind(scope: CallScope): Promise<readonly Message[]> {
    const call = await this.#open(scope);
    // Report each end once: the commit that stores the model's answer also marks the task as reported. Also report running tasks that the
    // model does not know, because the call that started them has no result, for example after a crash.
    call.showing = (await this.news(call)).filter((task) =>
      isOpen(task) ? task.told === undefined : task.status !== task.told,
    );
    if (call.showing.length === 0) return [];
    const text = { type: 'text', text: tasksReminder(call.showing), origin: 'server' } as const;
    return [userMessage([text], { id: 'finished-tasks', kind: 'synthetic' })];
  }

  async aroundReason(scope: CallScope, next: () => Promise<ModelResponse>): Promise<ModelResponse> {
    const response = await next();
    const call = await this.#open(scope);
    this.told(call, call.showing);
    call.showing = [];
    return response;
  }

  /** Stops running tasks in a resumable state and waits until that state is stored. */
  async close(options: CloseOptions): Promise<void> {
    if (this.#installed === undefined) return;
    const { agent, members, tasks } = this.#installed;
    const { runner } = this.settings;
    await (runner === undefined ? members.close(options) : runner.close(() => members.close(options)));
    if (this.#options.depth === 1) tasks.closing.abort();
    const running = [...tasks.live.values()].filter(({ owner }) => owner.parts.agentId === agent.name);
    await Promise.all(running.map(({ done }) => done));
  }

  get tasks(): Tasks {
    return this.#parts.tasks;
  }

  /** Returns the agent call that a tool call belongs to. */
  async callOf(state: AgentState): Promise<TeamCall> {
    const call = await this.#opened.get(state);
    if (call === undefined) throw new Error('Subagents work only within a call.');
    return call;
  }

  /** Starts a task by the name of a subagent, or sends a follow-up message to an earlier task by its id. */
  begin(call: TeamCall, agent: string, message: string): Promise<GivenTask> {
    const { scope, owner, subagents } = call;
    // Serialize: otherwise parallel calls of one step would all pass the limit check.
    return this.tasks.turns.run(owner.toString(), async () => {
      const earlier = givenTasks(scope.state).find((task) => task.taskId === agent);
      const name = earlier?.subagent ?? agent;
      const taskId = earlier?.taskId ?? `${name}-${randomUUID().slice(0, 8)}`;
      const subagent = subagents.get(name);
      if (subagent === undefined) {
        throw new Error(`There is no subagent "${name}". Available: ${[...subagents.keys()].join(', ')}.`);
      }
      const news = await this.news(call);
      const running = news.filter(isOpen);
      if (running.some((task) => task.taskId === taskId)) {
        throw new Error(`${taskId} is still running. Wait for it or cancel it, then send the message again.`);
      }
      if (running.length >= this.settings.maxRunning) {
        throw new Error(
          `${running.length} tasks are running, which is the limit. Wait for one with wait_async_results, or cancel one.`,
        );
      }
      // A new message instead of a decision denies the pending calls in the subagent's session.
      const waiting = news.find((task) => task.taskId === taskId && task.status === 'waiting');
      if (waiting !== undefined) await this.tasks.cancel(owner, waiting);
      this.#parts.members.agentOf(subagent);
      // Stopping this session stops its tasks, so no task may start afterwards.
      scope.signal.throwIfAborted();
      return this.#submit(call, { taskId, subagent: name, message });
    });
  }

  /**
   * Resumes the subagents whose pending calls a human decided on. Resolves to their tasks.
   *
   * @throws {Error} if none of these calls is pending any more.
   */
  async decide(
    call: TeamCall,
    decisions: NonNullable<ToolContext['decisions']>,
  ): Promise<readonly GivenTask[]> {
    const submitted: GivenTask[] = [];
    for (const found of await this.news(call)) {
      const { waitsFor = [], taskId, subagent, task } = found;
      const ids = waitsFor.map(({ approvalId }) => approvalId);
      const mine = Object.entries(decisions).filter(([id]) => ids.includes(id));
      if (mine.length === 0) continue;
      this.#count(call, found);
      const work = { taskId, subagent, message: task, decisions: Object.fromEntries(mine) };
      submitted.push(await this.#submit(call, work));
    }
    if (submitted.length === 0) throw new Error('The subagent does not wait for approval any more.');
    return submitted;
  }

  /** Reads the current status of all tasks whose final status the model has not seen. */
  news({ scope, owner }: TeamCall): Promise<readonly SubagentTask[]> {
    const unknown = givenTasks(scope.state).filter((task) => !isSettled(task));
    return this.tasks.look(owner, unknown);
  }

  /** Marks these tasks as reported to the model. The step that stores the model's answer also stores the mark. */
  told(call: TeamCall, found: readonly SubagentTask[]): void {
    if (found.length === 0) return;
    const { state } = call.scope;
    for (const task of found) this.#count(call, task);
    const news = new Map(found.map(({ callId, status }) => [callId, { told: status }]));
    const told = givenTasks(state).map((task) => ({ ...task, ...news.get(task.callId) }));
    keepTasks(state, told);
  }

  /** Counts what a task used while no call of the parent ran in its process, once. */
  #count({ scope }: TeamCall, { callId, uncounted = [] }: SubagentTask): void {
    const given = givenTasks(scope.state).find((task) => task.callId === callId);
    if (given?.told !== undefined && !isOpen({ status: given.told })) return;
    for (const used of uncounted) scope.emit({ type: 'usage.reported', source: NAME, ...used });
  }

  get #parts() {
    if (this.#installed === undefined)
      throw new Error('subagents() is not part of an agent yet. Pass it to .use() first.');
    return this.#installed;
  }

  /** Reads the subagents of a call once and caches the result. */
  #open(scope: CallScope): Promise<TeamCall> {
    const opened = this.#opened.get(scope.state) ?? this.#read(scope);
    this.#opened.set(scope.state, opened);
    return opened;
  }

  async #read(scope: CallScope): Promise<TeamCall> {
    const { tenantId, userId, sessionId } = scope.state;
    const owner = SessionKey.of({ tenantId, userId, agentId: scope.agentId, sessionId });
    const { subagents, problems } = await this.#parts.members.read(scope.workspace);
    for (const message of problems) scope.emit({ type: 'warning', source: NAME, message });
    return { scope, owner, subagents, showing: [], isRunning: false };
  }

  async #submit({ scope, owner }: TeamCall, work: Omit<TaskOrder, 'owner' | 'callId'>): Promise<GivenTask> {
    const { agent, tasks } = this.#parts;
    const { runner, pendingMs, maxRecords, clock = systemClock } = this.settings;
    const { reach, leases } = agent.session;
    const isHere = runner === undefined && (reach === 'process' || leases !== undefined);
    const { taskId, subagent, message } = work;
    const callId = `task-${randomUUID()}`;
    const given: GivenTask = {
      ...{ taskId, subagent, task: headOf(message, TASK_CHARS), callId },
      createdAt: new Date(clock.now()).toISOString(),
      begins: runner === undefined ? 'running' : 'pending',
      pendingMs: isHere ? HANDOVER_MS : pendingMs,
    };
    const others = givenTasks(scope.state).filter((task) => task.taskId !== taskId);
    let excess = others.length + 1 - maxRecords;
    const kept = others.filter((task) => excess <= 0 || !isSettled(task) || excess-- <= 0);
    // Store the task in the parent before it starts, so that it survives a crash of this process.
    keepTasks(scope.state, [...kept, given]);
    await scope.checkpoint(true);
    const order = { ...work, owner: owner.toString(), callId };
    if (runner === undefined) void this.#execute(order);
    else {
      await runner.submit(order).catch(async (error: unknown) => {
        const ending = { status: 'failed', error: `It did not start: ${reasonOf(error)}` } as const;
        await writeEnding(tasks.store, taskKey(owner, order), callId, ending);
        throw error;
      });
    }
    scope.emit({ type: 'task.changed', taskId, subagent, status: given.begins });
    return given;
  }

  /** Runs an order in this process. Runs it only once, even if it is delivered several times. Never rejects. */
  #execute(order: TaskOrder): Promise<TaskEnd> {
    const { live } = this.tasks;
    const owner = SessionKey.parse(order.owner);
    const key = taskKey(owner, order);
    const place = key.toString();
    const running = live.get(place);
    if (running?.callId === order.callId) return running.done;
    const abort = new AbortController();
    const done = this.#carryOut(order, key, abort.signal).finally(() => {
      if (live.get(place)?.abort === abort) live.delete(place);
      this.#forget(order.owner);
    });
    live.set(place, { owner, callId: order.callId, abort, done });
    return done;
  }

  async #carryOut(order: TaskOrder, key: SessionKey, signal: AbortSignal): Promise<TaskEnd> {
    const { store } = this.tasks;
    const { callId, taskId, subagent, owner } = order;
    let ending: TaskEnding | undefined;
    try {
      if (endingIn(await store.load(key, { last: 1 }), callId)) return 'ended';
      ending = await this.#work(order, key, signal);
    } catch (error) {
      // Another process holds the lease, and only the lease holder may store an end.
      if (SessionLeaseError.isInstance(error) && error.sessionKey === key.toString()) return 'again';
      const isClosed = HarnessError.isInstance(error) && error.code === 'agent_closed';
      if (!isClosed) ending = { status: 'failed', error: reasonOf(error) };
    }
    if (ending === undefined && this.settings.runner !== undefined) return 'again';
    ending ??= { status: 'failed', error: LOST };
    const { status } = ending;
    try {
      if (status === 'cancelled') await this.tasks.cancelBelow(key);
      await writeEnding(store, key, callId, { ...ending, uncounted: this.#uncounted.take(owner, taskId) });
    } catch (error) {
      // No process holds the lease of the session any more, so the next reader treats the task as failed.
      process.emitWarning(`The end of task ${taskId} could not be stored: ${errorText(error)}`);
    }
    this.#calls.get(owner)?.scope.emit({ type: 'task.changed', taskId, subagent, status });
    return 'ended';
  }

  /**
   * Runs a task in a subagent, or continues what an earlier process began. Resolves to `undefined` if the agent closes
   * first.
   */
  async #work(order: TaskOrder, key: SessionKey, signal: AbortSignal): Promise<TaskEnding | undefined> {
    const { members } = this.#parts;
    const owner = SessionKey.parse(order.owner);
    const { taskId, callId, message, decisions } = order;
    const giver = () => this.#calls.get(order.owner)?.scope;
    const runtime = giver()?.runtime;
    const files = runtime?.get(FilesOwner) ?? new FilesOwner(owner);
    const { subagents } = await members.read(agentFiles(files.key, this.#parts.agent));
    const subagent = subagents.get(order.subagent);
    if (subagent === undefined) throw new Error(`There is no subagent named "${order.subagent}" any more.`);
    const { tenantId, userId, sessionId } = key.parts;
    const parent = new Parent({
      above: runtime?.get(Parent),
      states: () => this.#statesOf(owner),
      used: (modelId, usage) => {
        const used = { taskId, modelId, usage };
        const call = this.#calls.get(order.owner);
        // A subagent passes usage on to its own parent, even if it has ended itself.
        if (call && (call.isRunning || this.#options.depth > 1))
          call.scope.emit({ type: 'usage.reported', source: NAME, ...used });
        else this.#uncounted.add(order.owner, used);
      },
    });
    const context = RuntimeContext.builder(runtime ?? RuntimeContext.of({ tenantId, userId }))
      .sessionId(sessionId)
      .put(FilesOwner, files)
      .put(Parent, parent)
      .build();
    const agent = members.agentOf(subagent);
    const open = (await agent.state(context))?.permissionContext.pending?.map(({ id }) => id);
    // If an order runs again, some of its decisions may have been applied already.
    const given = Object.entries(decisions ?? {}).filter(([id]) => open?.includes(id));
    const taken = given.map(([id, decision]) => {
      const { type } = decision;
      return [id, type === 'deny' ? { type, reason: decision.message || undefined } : decision] as const;
    });
    const options = { signal, id: callId, decisions: Object.fromEntries(taken) };
    const events: AsyncGenerator<AgentEvent, Reply> = decisions
      ? agent.resumeStream(context, options)
      : agent.stream(
          userMessage([{ type: 'text', text: message, origin: 'agent' }], { id: callId }),
          context,
          { signal },
        );
    for (;;) {
      const { done, value } = await events.next();
      if (done) return endingOf(value);
      await giver()?.emit({ type: 'subagent.event', taskId, subagent: subagent.name, event: value });
    }
  }

  /**
   * Returns the states of the parent whose permissions apply to a subagent's call, the current one first: the state of the running call, or
   * else the stored state. Between calls, the last state known in this process also counts, because its deny rules may not be stored yet.
   */
  async #statesOf(owner: SessionKey): Promise<readonly AgentState[]> {
    const { scope, isRunning } = this.#calls.get(owner.toString()) ?? {};
    if (scope !== undefined && isRunning) return [scope.state];
    const stored = await this.tasks.store.load(owner, { last: 1 });
    const present = stored === undefined ? [] : [AgentState.fromParts(stored.head, [])];
    return scope === undefined ? present : [...present, scope.state];
  }

  /** Removes the last call of a session if none of the session's tasks run here. */
  #forget(owner: string): void {
    const isBusy = [...this.tasks.live.values()].some((live) => live.owner.toString() === owner);
    if (!isBusy && !this.#calls.get(owner)?.isRunning) this.#calls.delete(owner);
  }
}

/** Returns the text of an error for the model and for the conversation, without credentials. */
const reasonOf = (error: unknown) => redactSecrets(errorText(error));

/** Tests if the final status of a task was reported to the model. */
function isSettled({ told }: GivenTask): boolean {
  return told !== undefined && isEnded({ status: told });
}

function endingOf({ stopReason, text: result, steps, pendingCalls }: Reply): TaskEnding | undefined {
  if (stopReason === 'completed' || stopReason === 'superseded') return { status: 'completed', result };
  if (stopReason === 'permission_required') return { status: 'waiting', waitsFor: pendingCalls };
  if (stopReason === 'interrupted') return { status: 'cancelled', result };
  if (stopReason === 'shutdown') return undefined;
  const error = `It was stopped after ${steps} steps: ${stopReason}. To continue, call agent_spawn with its id.`;
  return { status: 'failed', result, error };
}

/** Creates the tools with which an agent controls its subagents. */
function teamTools(team: Team): readonly Tool[] {
  // Long because it defines three tools with the descriptions that a model reads.
  const milliseconds = z.int().min(0).max(MOST_MS).default(Math.min(team.settings.timeoutMs, MOST_MS));
  const taskId = z.string().min(1).describe('The id that agent_spawn returned');

  /** Waits for tasks to end. Tasks that take longer continue in the background. */
  async function collect(call: TeamCall, tasks: readonly GivenTask[], wait: Parameters<Tasks['wait']>[2]) {
    const { signal } = wait;
    try {
      const found = await team.tasks.wait(call.owner, tasks, wait);
      raiseApprovals(found);
      team.told(call, found);
      return found;
    } catch (error) {
      // Interrupting the wait interrupts the tasks. After a shutdown of the agent, they can be resumed. If another process took the session,
      // the tasks are that process's.
      const isInterrupted = signal.reason instanceof Interruption && signal.reason.kind !== 'shutdown';
      if (isInterrupted) for (const each of tasks) await team.tasks.cancel(call.owner, each);
      throw error;
    }
  }

  return [
    defineTool({
      name: 'agent_spawn',
      description:
        'Gives a task to a new subagent, and returns its final answer. The subagent has a separate context window and does not ' +
        'see this conversation. With the id of an earlier task, it continues the subagent of that task, which remembers its ' +
        'work. Several calls in one step run in parallel. A task that takes longer than timeoutMs, or that you start with ' +
        'background, runs in the background: you get a message when it ends.',
      // Spawning changes nothing by itself: the parent's permissions and plan mode apply to each call of the subagent.
      readOnly: true,
      timeoutMs: 0,
      input: z.strictObject({
        agent: z
          .string()
          .min(1)
          .describe('A name from the system prompt, or the id of an earlier task to continue it'),
        task: z
          .string()
          .trim()
          .min(1)
          .describe('Everything that the subagent needs to know, and what its answer must contain'),
        background: z.boolean().default(false).describe('Return at once, while the subagent works'),
        timeoutMs: milliseconds.describe('Milliseconds to wait for the answer'),
      }),
      async execute({ agent, task, background, timeoutMs }, { state, signal, decisions }) {
        const call = await team.callOf(state);
        const given = decisions ? await team.decide(call, decisions) : [await team.begin(call, agent, task)];
        const found = await collect(call, given, { timeoutMs: background ? 0 : timeoutMs, signal });
        const report = found.map(taskReport).join('\n');
        if (found.some(({ status }) => status === 'failed')) throw new Error(report);
        return report;
      },
    }),
    defineTool({
      name: 'wait_async_results',
      description:
        'Waits until background tasks have ended, and returns their results. Without taskIds it waits for all running tasks. ' +
        'Results of named tasks are returned again. With timeoutMs 0 it does not wait.',
      readOnly: true,
      timeoutMs: 0,
      input: z.strictObject({
        taskIds: z.array(taskId).min(1).optional(),
        timeoutMs: milliseconds.describe('Milliseconds to wait'),
      }),
      async execute({ taskIds, timeoutMs }, { state, signal, decisions }) {
        const call = await team.callOf(state);
        if (decisions) await team.decide(call, decisions);
        const wanted = taskIds?.map((id) => taskOf(call, id)) ?? (await team.news(call));
        if (wanted.length === 0) return 'No task is running, and you already have every result.';
        return (await collect(call, wanted, { timeoutMs, signal })).map(taskReport).join('\n\n');
      },
    }),
    defineTool({
      name: 'task_cancel',
      description:
        'Stops a task, and the tasks that its subagent started. What it has done so far stays done. To continue the task, call ' +
        'agent_spawn with its id.',
      readOnly: true,
      input: z.strictObject({ taskId }),
      async execute({ taskId: id }, { state }) {
        const call = await team.callOf(state);
        const given = taskOf(call, id);
        const wasRunning = await team.tasks.cancel(call.owner, given);
        const found = await team.tasks.look(call.owner, [given]);
        if (found.some(isOpen)) return `${id} runs in another process, which was asked to stop it.`;
        team.told(call, found);
        return `${wasRunning ? '' : 'It had already ended.\n'}${found.map(taskReport).join('\n')}`;
      },
    }),
  ];
}

/** @throws {Error} if the session has no task with this id. */
function taskOf({ scope }: TeamCall, taskId: string): GivenTask {
  const tasks = givenTasks(scope.state);
  const task = tasks.find((candidate) => candidate.taskId === taskId);
  if (task !== undefined) return task;
  const known = tasks.map((each) => each.taskId).join(', ') || 'none';
  throw new Error(`There is no task "${taskId}" in this session. Available: ${known}.`);
}

/** @throws {ApprovalRequiredError} if one of these tasks waits for approval, so that the tool call waits as well. */
function raiseApprovals(tasks: readonly SubagentTask[]): void {
  const calls = tasks.flatMap(({ taskId, status, waitsFor = [] }) =>
    status !== 'waiting'
      ? []
      : waitsFor.map((call) => ({ ...call, agentId: [taskId, call.agentId].filter(Boolean).join('/') })),
  );
  if (calls.length > 0) throw new ApprovalRequiredError(calls);
}
