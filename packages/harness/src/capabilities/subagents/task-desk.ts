import { randomUUID } from 'node:crypto';
import { type Clock, errorText, headOf, type PendingCall, type RuntimeContext, SessionKey } from '@x/core';
import { isEnded, isOpen, type TaskRecord, type TaskRepository, type TaskStatus } from './task-repository.js';
import type { TaskEnd, TaskOrder, TaskRunner } from './task-runner.js';

/** The outcome of a subagent's work. */
export interface TaskOutcome {
  readonly status: 'completed' | 'failed' | 'cancelled' | 'shutdown' | 'waiting';
  readonly result?: string | undefined;
  readonly error?: string | undefined;
  readonly waitsFor?: readonly PendingCall[] | undefined;
}

export interface TaskDeskOptions {
  readonly repository: TaskRepository;
  readonly runner: TaskRunner;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly orphanAfterMs: number;
  readonly pollMs: number;
  readonly maxRecords: number;
  readonly maxResultChars: number;
  /** Lets the subagent work. */
  readonly work: (
    order: TaskOrder,
    runtime: RuntimeContext | undefined,
    signal: AbortSignal,
  ) => Promise<TaskOutcome>;
  /** Called once the end of a task that ran here is recorded. */
  readonly ended: (order: TaskOrder, status: TaskStatus) => void;
}

interface LiveTask {
  readonly owner: SessionKey;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** Characters of the task that a record shows. */
const TASK_CHARS = 300;
const ORPHANED =
  'The process that ran it died. What it had done by then is in its session: agent_send lets it go on.';
const UNCLAIMED = 'No process took it in time. Give it again if it is still needed.';
const SHUT_DOWN =
  'The process shut down before it was done. What it had done by then is in its session: agent_send lets it go on.';

/**
 * Keeps the records of tasks: gives tasks to the runner, records their ends and heartbeats, and takes tasks of processes that
 * died for failed. A record that has ended never changes again.
 */
export class TaskDesk {
  readonly #options: TaskDeskOptions;
  /** The id of this process: a record with another one was begun elsewhere. */
  readonly #runnerId = randomUUID();
  readonly #live = new Map<string, LiveTask>();
  #beating = false;

  constructor(options: TaskDeskOptions) {
    this.#options = options;
  }

  /** Tells whether the task runs in this process. */
  isLive(taskId: string): boolean {
    return this.#live.has(taskId);
  }

  async submit(order: TaskOrder, runtime: RuntimeContext): Promise<void> {
    const { repository, runner, maxRecords } = this.#options;
    const { taskId, agentId, subagent } = order;
    const now = this.#now();
    const record: TaskRecord = {
      taskId,
      agentId,
      subagent,
      task: headOf(order.message, TASK_CHARS),
      status: runner.durable ? 'pending' : 'running',
      ...(runner.durable ? {} : { runner: this.#runnerId }),
      cancelRequested: false,
      createdAt: now,
      heartbeatAt: now,
    };
    const owner = SessionKey.parse(order.owner);
    await repository.change(owner, (records) => {
      // One that went on after it waited for approval has its record already.
      const others = records.filter((known) => known.taskId !== taskId);
      return [...pruned(others, maxRecords), record];
    });
    try {
      await runner.submit(order, runtime);
    } catch (error) {
      await this.#end(owner, taskId, {
        status: 'failed',
        error: `It could not be begun: ${errorText(error)}`,
      });
      throw error;
    }
  }

  /** Carries out an order in this process; see `ExecuteTask`. */
  execute(order: TaskOrder, runtime?: RuntimeContext): Promise<TaskEnd> {
    const { taskId } = order;
    const owner = SessionKey.parse(order.owner);
    const abort = new AbortController();
    const end = this.#execute(order, owner, runtime, abort.signal).then(({ end, status }) => {
      this.#live.delete(taskId);
      if (status !== undefined) this.#options.ended(order, status);
      return end;
    });
    this.#live.set(taskId, { owner, abort, done: end.then(() => {}) });
    void this.#beat();
    return end;
  }

  /** Lists the tasks of a session, oldest first. Tasks whose process died count as failed. */
  async list(owner: SessionKey): Promise<readonly TaskRecord[]> {
    const records = await this.#options.repository.list(owner);
    if (!records.some((record) => this.#isOrphan(record))) return records;
    return this.#options.repository.change(owner, (current) =>
      current.map((record) =>
        this.#isOrphan(record)
          ? {
              ...record,
              ...this.#ending({
                status: 'failed',
                error: record.status === 'pending' ? UNCLAIMED : ORPHANED,
              }),
            }
          : record,
      ),
    );
  }

  /** Waits until these tasks have ended or the time is up. Resolves to their records. */
  async wait(
    owner: SessionKey,
    taskIds: readonly string[],
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<readonly TaskRecord[]> {
    const { clock, pollMs } = this.#options;
    const deadline = clock.now() + timeoutMs;
    for (;;) {
      const records = (await this.list(owner)).filter((record) => taskIds.includes(record.taskId));
      const open = records.filter(isOpen);
      const left = deadline - clock.now();
      if (open.length === 0 || left <= 0) return records;
      signal.throwIfAborted();
      const live = open.flatMap(({ taskId }) => this.#live.get(taskId)?.done ?? []);
      const nap = new AbortController();
      const isRemote = live.length < open.length;
      const napping = clock.sleep(isRemote ? Math.min(pollMs, left) : left, {
        signal: AbortSignal.any([signal, nap.signal]),
      });
      // Woken by the first that ends here; the nap that is left over must not hold a timer.
      await Promise.race([napping, ...live]).catch(() => signal.throwIfAborted());
      nap.abort();
      await napping.catch(() => {});
    }
  }

  /** Asks a task to stop, in any process; at once when it runs here. Resolves to false when it had ended already. */
  async cancel(owner: SessionKey, taskId: string): Promise<boolean> {
    let found = false;
    await this.#options.repository.change(owner, (records) => {
      found = records.some((record) => record.taskId === taskId && !isEnded(record));
      if (!found) return records;
      return records.map((record) => {
        if (record.taskId !== taskId) return record;
        // No process has begun it, so none has to stop it.
        const ending = record.status !== 'running' ? this.#ending({ status: 'cancelled' }) : {};
        return { ...record, cancelRequested: true, ...ending };
      });
    });
    const live = this.#live.get(taskId);
    if (live?.owner.equals(owner)) {
      live.abort.abort();
      await live.done;
    }
    return found;
  }

  async #execute(
    order: TaskOrder,
    owner: SessionKey,
    runtime: RuntimeContext | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly end: TaskEnd; readonly status?: TaskStatus }> {
    const { taskId } = order;
    let outcome: TaskOutcome;
    try {
      if (!(await this.#begin(owner, taskId))) return { end: 'ended' };
      outcome = await this.#options.work(order, runtime, signal);
    } catch (error) {
      outcome = { status: 'failed', error: errorText(error) };
    }
    try {
      if (outcome.status === 'shutdown' && this.#options.runner.durable) {
        await this.#change(owner, taskId, { status: 'pending', heartbeatAt: this.#now() });
        return { end: 'again' };
      }
      await this.#end(owner, taskId, outcome);
    } catch (error) {
      // The record is left alone. Its heartbeat stops, so the next reader takes it for failed.
      process.emitWarning(`The end of task ${taskId} could not be recorded: ${errorText(error)}`);
    }
    return { end: 'ended', status: outcome.status === 'shutdown' ? 'failed' : outcome.status };
  }

  /** Tells whether to begin the task: it may have been cancelled meanwhile. */
  async #begin(owner: SessionKey, taskId: string): Promise<boolean> {
    const { runner, repository } = this.#options;
    if (!runner.durable) return true;
    const change = { status: 'running' as const, runner: this.#runnerId, heartbeatAt: this.#now() };
    await this.#change(owner, taskId, change);
    const record = (await repository.list(owner)).find((candidate) => candidate.taskId === taskId);
    return record !== undefined && isOpen(record);
  }

  async #end(owner: SessionKey, taskId: string, outcome: TaskOutcome): Promise<void> {
    const { repository, maxResultChars } = this.#options;
    const { result } = outcome;
    const isLong = result !== undefined && result.length > maxResultChars;
    const resultPath = isLong ? await repository.keepResult(owner, taskId, result) : undefined;
    await this.#change(owner, taskId, {
      ...this.#ending(outcome),
      ...(result === undefined ? {} : { result: headOf(result, maxResultChars) }),
      ...(resultPath === undefined ? {} : { resultPath }),
    });
  }

  #ending({ status, error, waitsFor }: TaskOutcome): Partial<TaskRecord> {
    if (status === 'waiting') return { status, waitsFor: [...(waitsFor ?? [])] };
    const cause = error ?? (status === 'shutdown' ? SHUT_DOWN : undefined);
    return {
      status: status === 'shutdown' ? 'failed' : status,
      endedAt: this.#now(),
      ...(cause === undefined ? {} : { error: cause }),
    };
  }

  #change(owner: SessionKey, taskId: string, change: Partial<TaskRecord>): Promise<readonly TaskRecord[]> {
    return this.#options.repository.change(owner, (records) =>
      records.map((record) =>
        record.taskId === taskId && isOpen(record) ? { ...record, ...change } : record,
      ),
    );
  }

  /** Writes heartbeats while tasks run here, and stops tasks that another process wants stopped. */
  async #beat(): Promise<void> {
    if (this.#beating) return;
    this.#beating = true;
    const { clock, heartbeatMs } = this.#options;
    try {
      for (;;) {
        await clock.sleep(heartbeatMs, { background: true });
        if (this.#live.size === 0) return;
        const owners = new Map([...this.#live.values()].map(({ owner }) => [owner.toString(), owner]));
        // The next beat makes up for one that fails.
        for (const owner of owners.values()) await this.#beatFor(owner).catch(() => {});
      }
    } finally {
      this.#beating = false;
    }
  }

  async #beatFor(owner: SessionKey): Promise<void> {
    const now = this.#now();
    const records = await this.#options.repository.change(owner, (current) =>
      current.map((record) =>
        this.#live.has(record.taskId) && record.status === 'running'
          ? { ...record, heartbeatAt: now }
          : record,
      ),
    );
    for (const { taskId, cancelRequested } of records) {
      if (cancelRequested) this.#live.get(taskId)?.abort.abort();
    }
  }

  #isOrphan(record: TaskRecord): boolean {
    if (!isOpen(record) || this.#live.has(record.taskId)) return false;
    return this.#options.clock.now() - Date.parse(record.heartbeatAt) > this.#options.orphanAfterMs;
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}

/** Drops the oldest ended tasks, so that a list of at most `max` can take one more. */
function pruned(records: readonly TaskRecord[], max: number): readonly TaskRecord[] {
  let excess = records.length + 1 - max;
  return records.filter((record) => excess <= 0 || !isEnded(record) || excess-- <= 0);
}
