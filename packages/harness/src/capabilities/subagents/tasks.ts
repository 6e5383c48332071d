import {
  type AgentState,
  type JsonObject,
  type JsonValue,
  openSession,
  type PendingCall,
  SessionConflictError,
  SessionKey,
  type SessionStore,
} from '@x/core';
import {
  type ApprovalDecision,
  type Clock,
  escapeTags,
  headOf,
  isObject,
  isSessionHeld,
  KeyedMutex,
  systemClock,
} from '@x/core/internal';
import type { StoredSession } from '@x/core/store';
import { RemoteControl } from '../../agent/remote-control.js';
import { patientStore } from '../../lib/patient-store.js';
import type { TaskUsage } from './uncounted-usage.js';

/** Name of the capability, and of the state extension that keeps the tasks of a session. */
export const NAME = 'subagents';

/** A serializable task for a subagent. An order that is delivered twice runs only once. */
export interface TaskOrder extends Pick<GivenTask, 'taskId' | 'subagent' | 'callId'> {
  /** The session that created the order, as `SessionKey.toString()`. */
  readonly owner: string;
  readonly message: string;
  /** Decisions on pending calls of the subagent, by approval id. The order continues with these. */
  readonly decisions?: Readonly<Record<string, ApprovalDecision>> | undefined;
}

/** Outcome of an order: `ended` is final; `again` means that this process stops, and another process must run the order. */
export type TaskEnd = 'ended' | 'again';

/** Runs an order in this process. Never rejects. */
export type ExecuteTask = (order: TaskOrder) => Promise<TaskEnd>;

/** A queue that delivers orders to any free process with the same agent, and redelivers them if that process dies. */
export interface TaskRunner {
  /** Registers the function that runs an agent's orders. Called once, before any order is submitted. */
  attach(agentName: string, execute: ExecuteTask): void;
  /** Resolves once the queue guarantees delivery of the order. */
  submit(order: TaskOrder): Promise<void>;
  /**
   * Stops accepting orders, stops the running ones and waits for their end. Orders that go back to the queue are not
   * redelivered here.
   */
  close(stopRunning: () => Promise<void>): Promise<void>;
}

export type TaskStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';

/** A task as the parent's state keeps it. The subagent's own session stores the outcome. */
export interface GivenTask {
  /** Id of the task and of the subagent's session in tool calls: `explorer-1a2b3c4d`. */
  readonly taskId: string;
  readonly subagent: string;
  /** The beginning of the task's message. */
  readonly task: string;
  /** Id of the subagent's call and of its message. A later call to the same subagent has another id. */
  readonly callId: string;
  /** Time of the most recent submission. ISO 8601, UTC. */
  readonly createdAt: string;
  /** Status until a process starts the task: `pending` if the task is in a queue, otherwise `running`. */
  readonly begins: 'pending' | 'running';
  /** Milliseconds without a process working on the task before it fails. */
  readonly pendingMs: number;
  /** Status that was reported to the model. */
  readonly told?: TaskStatus;
}

/** The end of a subagent's work, as its session keeps it. */
export interface TaskEnding {
  readonly status: TaskStatus;
  readonly result?: string | undefined;
  /** Reason for the failure, and what to do next. */
  readonly error?: string | undefined;
  /** Calls of the subagent, or of its own subagents, that wait for approval. */
  readonly waitsFor?: readonly PendingCall[] | undefined;
  /** Tokens that no running call of the parent has counted yet. The parent counts them when it reports the end to the model. */
  readonly uncounted?: readonly TaskUsage[] | undefined;
  /** ISO 8601, UTC. */
  readonly endedAt?: string | undefined;
}

/** A task of a session with its current status and result. */
export interface SubagentTask extends GivenTask, TaskEnding {}

/** Name of the extension in a subagent's state that stores how its task ended. */
const ENDING = 'subagent_task';
const UNCLAIMED = 'No process started the task in time. Send it again if it is still needed.';

export const LOST =
  'The process that ran the task shut down or died before the task was done. The work so far is in its session. To ' +
  'continue, call agent_spawn with its id.';

/** Tests if a task is running, or will run without further action. */
export function isOpen({ status }: TaskEnding): boolean {
  return status === 'pending' || status === 'running';
}

/** Tests if a task has ended. A task that waits for approval has not. */
export function isEnded(task: TaskEnding): boolean {
  return !isOpen(task) && task.status !== 'waiting';
}

/** Returns the key of a subagent's session, nested below its parent's key. */
export function taskKey(owner: SessionKey, { subagent, taskId }: Pick<GivenTask, 'subagent' | 'taskId'>) {
  const { agentId, sessionId } = owner.parts;
  return SessionKey.of({
    ...owner.parts,
    agentId: `${agentId}/${subagent}`,
    sessionId: `${sessionId}/${taskId}`,
  });
}

/** Returns the tasks of a session from its state, oldest first. */
export function givenTasks(state: { readonly extensions?: unknown } | undefined): readonly GivenTask[] {
  const { tasks } = extensionOf(state, NAME);
  return Array.isArray(tasks) ? (tasks.filter((task) => isObject(task)) as unknown as GivenTask[]) : [];
}

/** Stores the tasks of a session in its state. */
export function keepTasks({ extensions }: AgentState, tasks: readonly GivenTask[]): void {
  extensions[NAME] = { ...extensions[NAME], tasks: tasks as unknown as JsonValue };
}

/**
 * Reads the subagent tasks of a session with their status, oldest first:
 * `subagentTasks(agent.session, agent.keyOf(context))`. A queued task is `pending` until a process starts it or its
 * parent gives up on it.
 */
export async function subagentTasks(
  store: SessionStore,
  owner: SessionKey,
): Promise<readonly SubagentTask[]> {
  const stored = await store.load(owner, { last: 1 });
  return Promise.all(
    givenTasks(stored?.head).map(async (given) => {
      const { left, ...task } = await readTask(store, owner, given);
      const isLost = left && given.begins === 'running' && Date.now() - left.seenAt > given.pendingMs;
      return isLost ? { ...task, status: 'failed', error: LOST } : task;
    }),
  );
}

/**
 * Reads the status of a task from the subagent's session. Without a stored end, the task runs while a process holds the
 * lease of that session. If no process holds it, `left` says whether the task had started and when its session was last
 * stored.
 */
async function readTask(
  store: SessionStore,
  owner: SessionKey,
  given: GivenTask,
): Promise<SubagentTask & { readonly left?: { readonly hasBegun: boolean; readonly seenAt: number } }> {
  const key = taskKey(owner, given);
  const { callId, createdAt, begins } = given;
  const first = endingIn(await store.load(key, { last: 1 }), callId);
  if (first === undefined && (await isSessionHeld(store, key))) return { ...given, status: 'running' };
  // The process may have ended in between: it stores the session before it releases the lease.
  const stored = first ? undefined : await store.load(key, { last: 1 });
  const ending = first ?? endingIn(stored, callId);
  if (ending !== undefined) return { ...given, ...ending };
  const seenAt = Math.max(...[createdAt, stored?.updatedAt ?? createdAt].map((at) => Date.parse(at)));
  return { ...given, status: begins, left: { hasBegun: stored !== undefined, seenAt } };
}

/** Stores the end of a task in the subagent's session. */
export async function writeEnding(
  store: SessionStore,
  key: SessionKey,
  callId: string,
  ending: TaskEnding,
): Promise<void> {
  const session = await openSession(store, key);
  const kept = { ...ending, callId, endedAt: new Date().toISOString() };
  // Drop `undefined`, which JSON cannot represent.
  session.state.extensions[ENDING] = JSON.parse(JSON.stringify(kept)) as JsonObject;
  await session.commit();
}

/** Returns the stored end of a call from the subagent's session. */
export function endingIn(stored: StoredSession | undefined, callId: string): TaskEnding | undefined {
  const { callId: ended, ...ending } = extensionOf(stored?.head, ENDING);
  return ended === callId ? (ending as unknown as TaskEnding) : undefined;
}

function extensionOf(head: { readonly extensions?: unknown } | undefined, name: string): JsonObject {
  const own = isObject(head?.extensions) ? head.extensions[name] : undefined;
  return isObject(own) ? (own as JsonObject) : {};
}

interface LiveTask {
  readonly owner: SessionKey;
  readonly callId: string;
  readonly abort: AbortController;
  readonly done: Promise<TaskEnd>;
}

/**
 * All tasks below an agent, including those of nested subagents: a task's children are the tasks of its session. Any
 * process with the same store can read their status.
 */
export class Tasks {
  readonly store: SessionStore;
  /** Aborts when the agent no longer waits for a store that does not respond. */
  readonly closing = new AbortController();
  /** Tasks that run in this process, by the key of the subagent's session. */
  readonly live = new Map<string, LiveTask>();
  readonly #pollMs: number;
  readonly #clock: Clock;
  /** Time at which a queued order was first seen without a process, by call id. */
  readonly #leftAt = new Map<string, number>();
  /** Serializes starting and stopping the tasks of a session in this process. */
  readonly turns = new KeyedMutex();

  /**
   * @param pollMs Milliseconds between polls of a task that runs in another process.
   * @param outageMs How long tasks wait for a store that does not respond.
   */
  constructor(store: SessionStore, pollMs: number, outageMs: number, clock: Clock = systemClock) {
    this.store = patientStore(store, { outageMs, clock, signal: this.closing.signal });
    this.#pollMs = pollMs;
    this.#clock = clock;
  }

  /** Reads the current status of tasks of a session. */
  look(owner: SessionKey, tasks: readonly GivenTask[]): Promise<readonly SubagentTask[]> {
    return Promise.all(tasks.map((given) => this.#lookAt(owner, given)));
  }

  /** Waits until these tasks have ended or the timeout expires. Resolves to their status. */
  async wait(
    owner: SessionKey,
    tasks: readonly GivenTask[],
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<readonly SubagentTask[]> {
    const deadline = this.#clock.now() + timeoutMs;
    for (;;) {
      const found = await this.look(owner, tasks);
      const left = deadline - this.#clock.now();
      if (left <= 0 || !found.some(isOpen)) return found;
      const live = found.flatMap((task) => this.#liveOf(owner, task)?.done ?? []);
      // Wake up when the first task in this process ends.
      await Promise.race([this.#clock.sleep(Math.min(this.#pollMs, left), { signal }), ...live]);
    }
  }

  /**
   * Stops a task in any process, and all tasks that its subagent started, even if the task itself has ended. Resolves
   * to false if the task had already ended.
   */
  async cancel(owner: SessionKey, given: GivenTask): Promise<boolean> {
    const key = taskKey(owner, given);
    const live = this.#liveOf(owner, given);
    live?.abort.abort();
    await live?.done;
    const [task] = await this.look(owner, live ? [] : [given]);
    const isLeft = task !== undefined && !isEnded(task);
    const control = new RemoteControl(this.store);
    const isElsewhere = task?.status === 'running' && (await control.send(key, { type: 'interrupt' }));
    // No process runs the task, so write its end here.
    if (isLeft && !isElsewhere) {
      await writeEnding(this.store, key, given.callId, { status: 'cancelled' });
    }
    await this.cancelBelow(key);
    return isLeft || live !== undefined;
  }

  /** Stops the tasks that a subagent's session started. */
  cancelBelow(owner: SessionKey): Promise<void> {
    return this.turns.run(owner.toString(), async () => {
      const stored = await this.store.load(owner, { last: 1 });
      for (const task of givenTasks(stored?.head)) await this.cancel(owner, task);
    });
  }

  async #lookAt(owner: SessionKey, given: GivenTask): Promise<SubagentTask> {
    if (this.#liveOf(owner, given)) return { ...given, status: 'running' };
    const { callId, begins, pendingMs } = given;
    const { left, ...task } = await readTask(this.store, owner, given);
    const foundAt = this.#leftAt.get(callId);
    this.#leftAt.delete(callId);
    if (left === undefined) return task;
    const now = this.#clock.now();
    // The process may have died long after the last save, so give the queue its time to redeliver the order.
    const leftAt =
      begins === 'pending' && left.hasBegun ? Math.max(foundAt ?? now, left.seenAt) : left.seenAt;
    if (now - leftAt <= pendingMs) {
      this.#leftAt.set(callId, leftAt);
      return task;
    }
    const ending = { status: 'failed', error: left.hasBegun ? LOST : UNCLAIMED } as const;
    try {
      // Store the end, so that a process that receives the order later does not start it. The parent can submit it
      // again.
      await writeEnding(this.store, taskKey(owner, given), callId, ending);
      return { ...task, ...ending };
    } catch (failure) {
      if (!SessionConflictError.isInstance(failure)) throw failure;
      return { ...task, status: 'running' };
    }
  }

  #liveOf(owner: SessionKey, task: Pick<GivenTask, 'subagent' | 'taskId'>): LiveTask | undefined {
    return this.live.get(taskKey(owner, task).toString());
  }
}

/** Characters of each result in a reminder. Tools return the full result. */
const REMINDER_CHARS = 1_500;
/**
 * Characters of all results in a reminder together, because compaction cannot shrink a reminder. Each result keeps at
 * least `FEWEST_CHARS`.
 */
const REMINDERS_CHARS = 6_000;
const FEWEST_CHARS = 100;

/** Renders a task and its result for a tool result. */
export function taskReport(task: SubagentTask): string {
  const { taskId, status, result = '', error = '', waitsFor = [] } = task;
  const names = waitsFor.map(({ name }) => name).join(', ');
  const hint = isOpen(task)
    ? 'It continues in the background, and you get a message when it ends. wait_async_results waits for it.'
    : `It waits for the user's approval of ${names}. wait_async_results asks the user.`;
  return [`[${taskId}: ${status}]`, error, result, isEnded(task) ? '' : hint].filter(Boolean).join('\n');
}

/** Renders the reminder about ended tasks. Results are quoted and escaped, because they may contain untrusted text. */
export function tasksReminder(tasks: readonly SubagentTask[]): string {
  const chars = Math.max(FEWEST_CHARS, Math.min(REMINDER_CHARS, Math.floor(REMINDERS_CHARS / tasks.length)));
  const reports = tasks.map((task) => {
    const { result = '', taskId } = task;
    if (result.length <= chars) return taskReport(task);
    const cut = `${headOf(result, chars)}\n[cut here; wait_async_results shows ${taskId} whole]`;
    return taskReport({ ...task, result: cut });
  });
  return [
    '<finished_tasks>',
    'These tasks of subagents have ended, wait for approval or still run. You get this message once; wait_async_results shows a result again.',
    escapeTags(reports.join('\n'), 'finished_tasks'),
    '</finished_tasks>',
  ].join('\n');
}
