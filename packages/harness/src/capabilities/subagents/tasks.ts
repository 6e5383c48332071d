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

/** The capability's name, and that of the extension in which a state keeps the tasks that it gave. */
export const NAME = 'subagents';

/** Work for a subagent, in a form that can travel to another process. One that is delivered twice is carried out once. */
export interface TaskOrder extends Pick<GivenTask, 'taskId' | 'subagent' | 'callId'> {
  /** The session that gave it: `SessionKey.toString()`. */
  readonly owner: string;
  readonly message: string;
  /** Decisions on calls of the subagent, by approval id: the order continues with these. */
  readonly decisions?: Readonly<Record<string, ApprovalDecision>> | undefined;
}

/** The end of an order: final, or to be carried out again by another process because this one stops. */
export type TaskEnd = 'ended' | 'again';

/** Carries out an order in this process. Never rejects. */
export type ExecuteTask = (order: TaskOrder) => Promise<TaskEnd>;

/** A queue that carries orders to any free process with the same agent, and keeps them when one dies. */
export interface TaskRunner {
  /** Told once how this agent carries out orders, before any is submitted. */
  attach(agentName: string, execute: ExecuteTask): void;
  /** Resolves once the order will be carried out. */
  submit(order: TaskOrder): Promise<void>;
  /** Takes no more orders, has those that run here stopped, and waits for their end: none that is given back comes here again. */
  close(stopRunning: () => Promise<void>): Promise<void>;
}

export type TaskStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';

/** One piece of work as its parent's state keeps it. What became of it is in the subagent's own session. */
export interface GivenTask {
  /** The subagent's session, as tools name it: `explorer-1a2b3c4d`. */
  readonly taskId: string;
  readonly subagent: string;
  /** The beginning of the message that the subagent was given. */
  readonly task: string;
  /** Names the subagent's call, and its message: a later call to the same subagent is other work. */
  readonly callId: string;
  /** When it was given last. ISO 8601, UTC. */
  readonly createdAt: string;
  /** Its status until a process works on it: `pending` in a queue. */
  readonly begins: 'pending' | 'running';
  /** Milliseconds that this may take. */
  readonly pendingMs: number;
  /** The end that the model was told of. */
  readonly told?: TaskStatus;
}

/** The end of a subagent's work, as its session keeps it. */
export interface TaskEnding {
  readonly status: TaskStatus;
  readonly result?: string | undefined;
  /** Why it failed, and what can be done. */
  readonly error?: string | undefined;
  /** The calls that wait for approval, of the subagent or of its own subagents. */
  readonly waitsFor?: readonly PendingCall[] | undefined;
  /** ISO 8601, UTC. */
  readonly endedAt?: string | undefined;
}

/** A task of a session, and what became of it. */
export interface SubagentTask extends GivenTask, TaskEnding {}

/** The extension of a subagent's state that tells how its work ended. */
const ENDING = 'subagent_task';
const UNCLAIMED = 'No process took it in time. Give it again if it is still needed.';

export const LOST =
  'The process that ran it shut down or died before it was done. What it had done by then is in its session: agent_spawn ' +
  'with its id lets it go on.';

/** Returns whether a task is worked on, or will be without more being done. */
export function isOpen({ status }: TaskEnding): boolean {
  return status === 'pending' || status === 'running';
}

/** Returns whether a task has ended for good: not while it waits for approval. */
export function isEnded(task: TaskEnding): boolean {
  return !isOpen(task) && task.status !== 'waiting';
}

/** Makes the key of a subagent's session, below that of its parent. */
export function taskKey(owner: SessionKey, { subagent, taskId }: Pick<GivenTask, 'subagent' | 'taskId'>) {
  const { agentId, sessionId } = owner.parts;
  return SessionKey.of({
    ...owner.parts,
    agentId: `${agentId}/${subagent}`,
    sessionId: `${sessionId}/${taskId}`,
  });
}

/** Reads the tasks that a session gave, oldest first. */
export function givenTasks(state: { readonly extensions?: unknown } | undefined): readonly GivenTask[] {
  const { tasks } = extensionOf(state, NAME);
  return Array.isArray(tasks) ? (tasks.filter((task) => isObject(task)) as unknown as GivenTask[]) : [];
}

/** Keeps the tasks that a session gave in its state. */
export function keepTasks({ extensions }: AgentState, tasks: readonly GivenTask[]): void {
  extensions[NAME] = { ...extensions[NAME], tasks: tasks as unknown as JsonValue };
}

/**
 * Reads the tasks that a session gave to subagents, oldest first: `subagentTasks(agent.session, agent.keyOf(context))`. One in a
 * queue is `pending` until a process works on it, or its parent has given it up.
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
 * Finds out what became of a task: its end is in the subagent's session. Without one it runs while some process has the turn of
 * that session. Where none has, `left` tells whether one had begun, and when something was stored last.
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
  // Its process may have ended meanwhile: it stores the session before it gives up the turn.
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
  // What is undefined has no place in JSON.
  session.state.extensions[ENDING] = JSON.parse(JSON.stringify(kept)) as JsonObject;
  await session.commit();
}

/** Finds the end of a call in the subagent's session. */
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
 * The tasks below an agent, whichever subagent gave them: a task's children are those of its session. What became of a task is
 * in the subagent's session, so any process with the same store can tell.
 */
export class Tasks {
  readonly store: SessionStore;
  /** Those that run in this process, by the key of the subagent's session. */
  readonly live = new Map<string, LiveTask>();
  readonly #pollMs: number;
  readonly #clock: Clock;
  /** When an order in a queue was first found without a process that works on it, by call. */
  readonly #leftAt = new Map<string, number>();
  /** Gives and stops the tasks of a session one after the other here. */
  readonly turns = new KeyedMutex();

  /** @param pollMs Milliseconds between looks at a task that another process runs. */
  constructor(store: SessionStore, pollMs: number, clock: Clock = systemClock) {
    this.store = store;
    this.#pollMs = pollMs;
    this.#clock = clock;
  }

  /** Finds out what became of tasks of a session. */
  look(owner: SessionKey, tasks: readonly GivenTask[]): Promise<readonly SubagentTask[]> {
    return Promise.all(tasks.map((given) => this.#lookAt(owner, given)));
  }

  /** Waits until these tasks have ended or the time is up. Resolves to what became of them. */
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
      // Woken by the first that ends here.
      await Promise.race([this.#clock.sleep(Math.min(this.#pollMs, left), { signal }), ...live]);
    }
  }

  /**
   * Stops a task, in any process, and all tasks that its subagent gave to others, even when it has ended itself. Resolves to
   * false when it had ended already.
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
    // No process has begun it, so none has to stop it.
    if (isLeft && !isElsewhere) {
      await writeEnding(this.store, key, given.callId, { status: 'cancelled' });
    }
    await this.cancelBelow(key);
    return isLeft || live !== undefined;
  }

  /** Stops the tasks that a subagent's session gave. */
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
    // The last save may be older than the death of the process: the queue has its time to pass the order on.
    const leftAt =
      begins === 'pending' && left.hasBegun ? Math.max(foundAt ?? now, left.seenAt) : left.seenAt;
    if (now - leftAt <= pendingMs) {
      this.#leftAt.set(callId, leftAt);
      return task;
    }
    const ending = { status: 'failed', error: left.hasBegun ? LOST : UNCLAIMED } as const;
    try {
      // A process that takes the order from now on must not begin it: its parent gives it again.
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

/** Characters of each result in a reminder: it names results, tools hand them out. */
const REMINDER_CHARS = 1_500;
/** Characters of all results together: no compaction could make room for a reminder. Each keeps a few words at least. */
const REMINDERS_CHARS = 6_000;
const FEWEST_CHARS = 100;

/** A task with its result, as a tool hands it out. */
export function taskReport(task: SubagentTask): string {
  const { taskId, status, result = '', error = '', waitsFor = [] } = task;
  const names = waitsFor.map(({ name }) => name).join(', ');
  const hint = isOpen(task)
    ? 'It goes on in the background; you will be told when it ends. wait_async_results waits for it.'
    : `It waits for the user's approval of ${names}. wait_async_results asks the user.`;
  return [`[${taskId}: ${status}]`, error, result, isEnded(task) ? '' : hint].filter(Boolean).join('\n');
}

/** Words the reminder that tasks have ended; what they give back is quoted, since it may be someone else's words. */
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
    'These tasks of subagents have ended, or wait for approval. You are told once; wait_async_results shows a result again.',
    escapeTags(reports.join('\n'), 'finished_tasks'),
    '</finished_tasks>',
  ].join('\n');
}
