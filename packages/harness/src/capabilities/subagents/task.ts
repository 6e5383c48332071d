import {
  type AgentState,
  isObject,
  type JsonObject,
  type JsonValue,
  openSession,
  type PendingCall,
  SessionKey,
  type SessionStore,
  type StoredSession,
  systemClock,
} from '@x/core';
import { NAME } from './subagents-config.js';

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

/** Tells whether a task is worked on, or will be without more being done. */
export function isOpen({ status }: TaskEnding): boolean {
  return status === 'pending' || status === 'running';
}

/** Tells whether a task has ended for good: not while it waits for approval. */
export function isEnded(task: TaskEnding): boolean {
  return !isOpen(task) && task.status !== 'waiting';
}

/** Makes the key of a subagent's session, below that of its parent. */
export function taskKey(owner: SessionKey, { subagent, taskId }: Pick<GivenTask, 'subagent' | 'taskId'>) {
  const { agentId, sessionId, ...user } = owner.parts;
  return SessionKey.of({
    ...user,
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

/** Reads the tasks that a session gave to subagents, oldest first: `subagentTasks(agent.session, agent.keyOf(context))`. */
export async function subagentTasks(
  store: SessionStore,
  owner: SessionKey,
): Promise<readonly SubagentTask[]> {
  const stored = await store.load(owner, { last: 1 });
  return Promise.all(givenTasks(stored?.head).map((given) => readTask(store, owner, given)));
}

/**
 * Finds out what became of a task: its end is in the subagent's session. Without one it runs while some process has the turn of
 * that session.
 */
export async function readTask(
  store: SessionStore,
  owner: SessionKey,
  given: GivenTask,
  now = systemClock.now(),
): Promise<SubagentTask> {
  const key = taskKey(owner, given);
  const { callId, createdAt, begins, pendingMs } = given;
  const first = endingIn(await store.load(key, { last: 1 }), callId);
  if (first === undefined && (await store.isLeased?.(key))) return { ...given, status: 'running' };
  // Its process may have ended meanwhile: it stores the session before it gives up the turn.
  const stored = first ? undefined : await store.load(key, { last: 1 });
  const ending = first ?? endingIn(stored, callId);
  if (ending !== undefined) return { ...given, ...ending };
  const seenAt = Math.max(...[createdAt, stored?.updatedAt ?? createdAt].map((at) => Date.parse(at)));
  if (now - seenAt <= pendingMs) return { ...given, status: begins };
  return { ...given, status: 'failed', error: stored === undefined ? UNCLAIMED : LOST };
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
