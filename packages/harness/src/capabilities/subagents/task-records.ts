import {
  encodeSegment,
  InvalidInputError,
  type PendingCall,
  parseWith,
  readText,
  type SessionKey,
  sessionPrefix,
  type Workspace,
  WorkspaceError,
} from '@x/core';
import * as z from 'zod';
import { KeyedMutex } from '../../lib/keyed-mutex.js';

export const TASK_STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'] as const;

/** One piece of work that a parent gave a subagent. Fields that a newer version wrote are kept. */
const taskRecordSchema = z.looseObject({
  taskId: z.string().min(1),
  /** The subagent's own session, as tools name it: `explorer-1a2b3c`. */
  agentId: z.string().min(1),
  subagent: z.string().min(1),
  /** The beginning of the message that it was given. */
  task: z.string(),
  status: z.enum(TASK_STATUSES),
  /** The process that runs it. */
  runner: z.string().optional(),
  cancelRequested: z.boolean().default(false),
  /** ISO 8601, UTC; so are the times below. */
  createdAt: z.string(),
  /** When its process last showed that it lives. */
  heartbeatAt: z.string(),
  endedAt: z.string().optional(),
  /** The answer, or its beginning where `resultPath` has it whole. */
  result: z.string().optional(),
  resultPath: z.string().optional(),
  /** Why it failed, and what can be done. */
  error: z.string().optional(),
  /** The calls that wait for approval, of the subagent or of its own subagents. */
  waitsFor: z.array(z.custom<PendingCall>()).optional(),
});

export type TaskRecord = Readonly<z.output<typeof taskRecordSchema>>;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Tells whether a task is worked on, or will be without more being done. */
export function isOpen({ status }: Pick<TaskRecord, 'status'>): boolean {
  return status === 'pending' || status === 'running';
}

/** Tells whether a task has ended for good: not while it waits for approval. */
export function isEnded(record: Pick<TaskRecord, 'status'>): boolean {
  return !isOpen(record) && record.status !== 'waiting';
}

const fileSchema = z.strictObject({ version: z.literal(1), tasks: z.array(taskRecordSchema) });

/** Turns of a workspace that cannot lock. All repositories on it share them. */
const mutexes = new WeakMap<Workspace, KeyedMutex>();

/**
 * Tasks as files of a workspace: `[tenants/…][users/…]agents/<agent>/tasks/<session>.json`, with long results in a folder
 * beside it. Every write is atomic; where the workspace can lock, processes take turns.
 *
 * A file that cannot be read as tasks is never replaced: every method throws an `InvalidInputError` that names it.
 */
export class WorkspaceTaskRepository {
  readonly #workspace: Workspace;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Lists the tasks that the agent of a session gave, oldest first. */
  async list(owner: SessionKey): Promise<readonly TaskRecord[]> {
    const path = pathOf(owner);
    let text: string;
    try {
      text = await readText(this.#workspace, `${path}.json`);
    } catch (error) {
      if (WorkspaceError.isInstance(error) && error.code === 'not_found') return [];
      throw error;
    }
    return parseWith(fileSchema, parseJson(text, path), `${path}.json`).tasks;
  }

  /**
   * Replaces the list by the result of `change`, atomically. Writes nothing when `change` returns the list that it was
   * given. Resolves to the new list.
   */
  async change(
    owner: SessionKey,
    change: (records: readonly TaskRecord[]) => readonly TaskRecord[],
  ): Promise<readonly TaskRecord[]> {
    const path = pathOf(owner);
    return this.#exclusively(path, async (check) => {
      const before = await this.list(owner);
      const after = change(before);
      if (after === before) return before;
      await check();
      await this.#workspace.write(
        `${path}.json`,
        `${JSON.stringify({ version: 1, tasks: after }, null, 1)}\n`,
      );
      const kept = new Set(after.map((record) => record.taskId));
      for (const { taskId, resultPath } of before) {
        if (resultPath !== undefined && !kept.has(taskId)) await this.#workspace.delete(resultPath);
      }
      return after;
    });
  }

  /** Keeps a result that is too long for a record. Resolves to its path. */
  async keepResult(owner: SessionKey, taskId: string, text: string): Promise<string> {
    const path = `${pathOf(owner)}/${encodeSegment(taskId)}.md`;
    await this.#workspace.write(path, text);
    return path;
  }

  async #exclusively<T>(path: string, task: (check: () => Promise<void>) => Promise<T>): Promise<T> {
    const mutex = mutexes.get(this.#workspace) ?? new KeyedMutex();
    mutexes.set(this.#workspace, mutex);
    return mutex.run(path, () =>
      this.#workspace.lock
        ? this.#workspace.lock(`${path}.json`, (lock) => task(() => lock.check()))
        : task(async () => {}),
    );
  }
}

function pathOf(owner: SessionKey): string {
  return `${sessionPrefix(owner)}tasks/${owner.path.sessionId}`;
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidInputError(`${path}.json`, [{ path: '', message: 'is no JSON; repair or delete it' }], {
      cause,
    });
  }
}
