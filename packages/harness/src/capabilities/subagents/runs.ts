import { randomUUID } from 'node:crypto';
import { errorText, headOf, type PendingCall, SessionKey, systemClock, type Workspace } from '@x/core';
import { KeyedMutex } from '../../lib/keyed-mutex.js';
import type { SubagentsSettings } from './subagents-config.js';
import {
  isEnded,
  isOpen,
  type TaskRecord,
  type TaskStatus,
  WorkspaceTaskRepository,
} from './task-records.js';
import type { TaskEnd, TaskOrder, TaskRunner } from './task-runner.js';

/** The outcome of a subagent's work. */
export interface TaskOutcome {
  readonly status: 'completed' | 'failed' | 'cancelled' | 'shutdown' | 'waiting';
  readonly result?: string | undefined;
  readonly error?: string | undefined;
  readonly waitsFor?: readonly PendingCall[] | undefined;
}

/** The agent that carries out orders. */
export interface RunHandler {
  /** The queue that carries its orders; none where they run in this process. */
  readonly runner?: TaskRunner | undefined;
  /** Lets the subagent work. */
  work(order: TaskOrder, signal: AbortSignal): Promise<TaskOutcome>;
  /** Called once the end of a task that ran here is recorded. */
  ended(order: TaskOrder, status: TaskStatus): void;
}

interface LiveTask {
  readonly owner: SessionKey;
  readonly abort: AbortController;
  readonly done: Promise<TaskEnd>;
}

/** Characters of the task that a record shows. */
const TASK_CHARS = 300;
const GO_ON = 'What it had done by then is in its session: agent_spawn with its id lets it go on.';
const ORPHANED = `The process that ran it died. ${GO_ON}`;
const UNCLAIMED = 'No process took it in time. Give it again if it is still needed.';
const SHUT_DOWN = `The process shut down before it was done. ${GO_ON}`;

/** Makes the key of a subagent's session, below that of its parent. */
export function runKey(owner: SessionKey, { subagent, agentId }: Pick<TaskOrder, 'subagent' | 'agentId'>) {
  const { tenantId, userId, agentId: parent, sessionId } = owner.parts;
  return SessionKey.of({
    tenantId,
    userId,
    agentId: `${parent}/${subagent}`,
    sessionId: `${sessionId}/${agentId}`,
  });
}

/**
 * The tree of tasks below an agent, whichever subagent gave them: a task's children are those that its session owns. Records
 * are durable, and one that has ended never changes again. A task whose process died is taken for failed.
 */
export class Runs {
  readonly #settings: SubagentsSettings;
  readonly #records: WorkspaceTaskRepository;
  /** The id of this process: a record with another one was begun elsewhere. */
  readonly #runnerId = randomUUID();
  readonly #live = new Map<string, LiveTask>();
  readonly #turns = new KeyedMutex();
  #beating = false;

  constructor(settings: SubagentsSettings, storage: Workspace) {
    this.#settings = settings;
    this.#records = new WorkspaceTaskRepository(storage);
  }

  /** Tells whether the task runs in this process. */
  isLive(taskId: string): boolean {
    return this.#live.has(taskId);
  }

  /** Runs `task` while no other gives or stops tasks of the session here. */
  inTurn<Result>(owner: SessionKey, task: () => Promise<Result>): Promise<Result> {
    return this.#turns.run(owner.toString(), task);
  }

  /** Records an order, and lets it be carried out: by the handler's runner, else here and now. */
  async submit(order: TaskOrder, handler: RunHandler): Promise<void> {
    const { runner } = handler;
    const { taskId, agentId, subagent } = order;
    const now = this.#now();
    const record: TaskRecord = {
      taskId,
      agentId,
      subagent,
      task: headOf(order.message, TASK_CHARS),
      ...(runner ? { status: 'pending' } : { status: 'running', runner: this.#runnerId }),
      cancelRequested: false,
      createdAt: now,
      heartbeatAt: now,
    };
    const owner = SessionKey.parse(order.owner);
    await this.#records.change(owner, (records) => {
      // One that goes on after it waited for approval has its record already.
      const others = records.filter((known) => known.taskId !== taskId);
      return [...pruned(others, this.#settings.maxRecords), record];
    });
    if (runner === undefined) {
      void this.execute(order, handler);
      return;
    }
    try {
      await runner.submit(order);
    } catch (error) {
      const message = `It could not be begun: ${errorText(error)}`;
      await this.#end(owner, taskId, { status: 'failed', error: message });
      throw error;
    }
  }

  /** Carries out an order in this process. Never rejects. */
  execute(order: TaskOrder, handler: RunHandler): Promise<TaskEnd> {
    const owner = SessionKey.parse(order.owner);
    const abort = new AbortController();
    const done = this.#carryOut(order, owner, handler, abort.signal).then((status) => {
      this.#live.delete(order.taskId);
      if (status === 'pending') return 'again';
      if (status !== undefined) handler.ended(order, status);
      return 'ended';
    });
    this.#live.set(order.taskId, { owner, abort, done });
    void this.#beat();
    return done;
  }

  /** Lists the tasks of a session, oldest first. Tasks whose process died count as failed. */
  async list(owner: SessionKey): Promise<readonly TaskRecord[]> {
    const records = await this.#records.list(owner);
    if (!records.some((record) => this.#isOrphan(record))) return records;
    return this.#records.change(owner, (current) =>
      current.map((record) => {
        const error = record.status === 'pending' ? UNCLAIMED : ORPHANED;
        return this.#isOrphan(record) ? { ...record, ...this.#ending({ status: 'failed', error }) } : record;
      }),
    );
  }

  /** @throws {Error} when the session has no such task. */
  async record(owner: SessionKey, taskId: string): Promise<TaskRecord> {
    const records = await this.list(owner);
    const record = records.find((candidate) => candidate.taskId === taskId);
    if (record !== undefined) return record;
    const known = records.map((each) => `${each.taskId} (${each.agentId})`).join(', ') || 'none';
    throw new Error(`There is no task "${taskId}" in this session. There are: ${known}.`);
  }

  /** Waits until these tasks have ended or the time is up. Resolves to their records. */
  async wait(
    owner: SessionKey,
    taskIds: readonly string[],
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<readonly TaskRecord[]> {
    const { clock = systemClock, pollMs } = this.#settings;
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

  /**
   * Stops a task, in any process, and all tasks that its subagent gave to others, even when it has ended itself. Resolves to
   * false when it had ended already.
   */
  async cancel(
    owner: SessionKey,
    task: Pick<TaskRecord, 'taskId' | 'subagent' | 'agentId'>,
  ): Promise<boolean> {
    const { taskId } = task;
    let found = false;
    await this.#records.change(owner, (records) => {
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
    await this.#cancelAll(runKey(owner, task));
    return found;
  }

  /** Waits until none of the tasks runs here that the sessions of an agent gave. */
  async settled(agentId: string): Promise<void> {
    const running = [...this.#live.values()].filter(({ owner }) => owner.parts.agentId === agentId);
    await Promise.all(running.map(({ done }) => done));
  }

  #cancelAll(owner: SessionKey): Promise<void> {
    return this.inTurn(owner, async () => {
      for (const record of await this.list(owner)) await this.cancel(owner, record);
    });
  }

  /** Resolves to the status of the task; `pending` when another process is to go on, nothing when it had been cancelled. */
  async #carryOut(
    order: TaskOrder,
    owner: SessionKey,
    handler: RunHandler,
    signal: AbortSignal,
  ): Promise<TaskStatus | undefined> {
    const { taskId } = order;
    let outcome: TaskOutcome;
    try {
      if (handler.runner !== undefined) {
        const claim = { status: 'running' as const, runner: this.#runnerId, heartbeatAt: this.#now() };
        const records = await this.#change(owner, taskId, claim);
        if (!records.some((record) => record.taskId === taskId && isOpen(record))) return undefined;
      }
      outcome = await handler.work(order, signal);
    } catch (error) {
      outcome = { status: 'failed', error: errorText(error) };
    }
    try {
      if (signal.aborted) await this.#cancelAll(runKey(owner, order));
      if (outcome.status === 'shutdown' && handler.runner !== undefined) {
        await this.#change(owner, taskId, { status: 'pending', heartbeatAt: this.#now() });
        return 'pending';
      }
      await this.#end(owner, taskId, outcome);
    } catch (error) {
      // The record is left alone. Its heartbeat stops, so the next reader takes it for failed.
      process.emitWarning(`The end of task ${taskId} could not be recorded: ${errorText(error)}`);
    }
    return outcome.status === 'shutdown' ? 'failed' : outcome.status;
  }

  async #end(owner: SessionKey, taskId: string, outcome: TaskOutcome): Promise<void> {
    const { maxResultChars } = this.#settings;
    const { result } = outcome;
    const isLong = result !== undefined && result.length > maxResultChars;
    const resultPath = isLong ? await this.#records.keepResult(owner, taskId, result) : undefined;
    await this.#change(owner, taskId, {
      ...this.#ending(outcome),
      ...(result === undefined ? {} : { result: headOf(result, maxResultChars) }),
      ...(resultPath === undefined ? {} : { resultPath }),
    });
  }

  #ending({ status, error, waitsFor = [] }: TaskOutcome): Partial<TaskRecord> {
    if (status === 'waiting') return { status, waitsFor: [...waitsFor] };
    const cause = error ?? (status === 'shutdown' ? SHUT_DOWN : undefined);
    const ended = { endedAt: this.#now(), ...(cause === undefined ? {} : { error: cause }) };
    return { status: status === 'shutdown' ? 'failed' : status, ...ended };
  }

  #change(owner: SessionKey, taskId: string, change: Partial<TaskRecord>): Promise<readonly TaskRecord[]> {
    return this.#records.change(owner, (records) =>
      records.map((record) =>
        record.taskId === taskId && isOpen(record) ? { ...record, ...change } : record,
      ),
    );
  }

  /** Writes heartbeats while tasks run here, and stops tasks that another process wants stopped. */
  async #beat(): Promise<void> {
    if (this.#beating) return;
    this.#beating = true;
    const { clock = systemClock, heartbeatMs } = this.#settings;
    for (;;) {
      await clock.sleep(heartbeatMs, { background: true });
      if (this.#live.size === 0) break;
      const owners = new Map([...this.#live.values()].map(({ owner }) => [owner.toString(), owner]));
      // The next beat makes up for one that fails.
      for (const owner of owners.values()) await this.#beatFor(owner).catch(() => {});
    }
    this.#beating = false;
  }

  async #beatFor(owner: SessionKey): Promise<void> {
    const heartbeatAt = this.#now();
    const records = await this.#records.change(owner, (current) =>
      current.map((record) =>
        this.#live.has(record.taskId) && record.status === 'running' ? { ...record, heartbeatAt } : record,
      ),
    );
    for (const { taskId, cancelRequested } of records) {
      if (cancelRequested) this.#live.get(taskId)?.abort.abort();
    }
  }

  #isOrphan(record: TaskRecord): boolean {
    if (!isOpen(record) || this.#live.has(record.taskId)) return false;
    return Date.parse(this.#now()) - Date.parse(record.heartbeatAt) > this.#settings.orphanAfterMs;
  }

  #now(): string {
    return new Date((this.#settings.clock ?? systemClock).now()).toISOString();
  }
}

/** Drops the oldest ended tasks, so that a list of at most `max` can take one more. */
function pruned(records: readonly TaskRecord[], max: number): readonly TaskRecord[] {
  let excess = records.length + 1 - max;
  return records.filter((record) => excess <= 0 || !isEnded(record) || excess-- <= 0);
}
