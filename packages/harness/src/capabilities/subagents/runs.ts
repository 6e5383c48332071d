import {
  errorText,
  SessionConflictError,
  SessionKey,
  SessionLeaseError,
  type SessionStore,
  systemClock,
} from '@x/core';
import { RemoteControl } from '../../agent/remote-control.js';
import { KeyedMutex } from '../../lib/keyed-mutex.js';
import type { SubagentsSettings } from './subagents-config.js';
import {
  endingIn,
  type GivenTask,
  givenTasks,
  isEnded,
  isOpen,
  LOST,
  readTask,
  type SubagentTask,
  type TaskEnding,
  taskKey,
  writeEnding,
} from './task.js';
import type { TaskEnd, TaskOrder } from './task-runner.js';
import type { Team } from './team.js';

type Giver = Pick<Team, 'runner' | 'work' | 'ended'>;

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
export class Runs {
  readonly #settings: SubagentsSettings;
  readonly #store: SessionStore;
  readonly #control: RemoteControl;
  /** The tasks that run in this process, by the key of the subagent's session. */
  readonly #live = new Map<string, LiveTask>();
  /** When an order in a queue was first found without a process that works on it, by call. */
  readonly #leftAt = new Map<string, number>();
  readonly #turns = new KeyedMutex();

  constructor(settings: SubagentsSettings, store: SessionStore) {
    this.#settings = settings;
    this.#store = store;
    this.#control = new RemoteControl(store, settings.pollMs);
  }

  /** Runs `task` while no other gives or stops tasks of the session here. */
  inTurn<Result>(owner: SessionKey, task: () => Promise<Result>): Promise<Result> {
    return this.#turns.run(owner.toString(), task);
  }

  /** Lets an order be carried out: by the giver's runner, else here and now. */
  async submit(order: TaskOrder, giver: Giver): Promise<void> {
    if (giver.runner === undefined) return void this.execute(order, giver);
    try {
      await giver.runner.submit(order);
    } catch (error) {
      const ending = { status: 'failed', error: `It could not be begun: ${errorText(error)}` } as const;
      await writeEnding(this.#store, taskKey(SessionKey.parse(order.owner), order), order.callId, ending);
      throw error;
    }
  }

  /** Carries out an order in this process, once, however often it is given. Never rejects. */
  execute(order: TaskOrder, giver: Giver): Promise<TaskEnd> {
    const owner = SessionKey.parse(order.owner);
    const { callId } = order;
    const key = taskKey(owner, order);
    const running = this.#live.get(key.toString());
    if (running?.callId === callId) return running.done;
    const abort = new AbortController();
    const done = this.#work(order, key, giver, abort.signal).then((ending): TaskEnd => {
      if (this.#live.get(key.toString())?.abort === abort) this.#live.delete(key.toString());
      if (ending === 'again') return 'again';
      if (ending !== undefined) giver.ended(order, ending.status);
      return 'ended';
    });
    this.#live.set(key.toString(), { owner, callId, abort, done });
    return done;
  }

  /** Finds out what became of tasks of a session. */
  look(owner: SessionKey, tasks: readonly GivenTask[]): Promise<readonly SubagentTask[]> {
    return Promise.all(
      tasks.map(async (given): Promise<SubagentTask> => {
        if (this.#liveOf(owner, given)) return { ...given, status: 'running' };
        const { clock = systemClock } = this.#settings;
        const now = clock.now();
        const task = await readTask(this.#store, owner, given, now);
        const { status, error } = task;
        const { callId, begins, pendingMs } = given;
        const leftAt = this.#leftAt.get(callId) ?? now;
        this.#leftAt.delete(callId);
        if (status !== 'failed' || task.endedAt !== undefined) return task;
        // The last save may be older than the death of the process: the queue has its time to pass the order on.
        if (begins === 'pending' && error === LOST && now - leftAt <= pendingMs) {
          this.#leftAt.set(callId, leftAt);
          return { ...given, status: begins };
        }
        try {
          // A process that takes the order from now on must not begin it: its parent gives it again.
          await writeEnding(this.#store, taskKey(owner, given), callId, { status, error });
          return task;
        } catch (failure) {
          if (!SessionConflictError.isInstance(failure)) throw failure;
          return { ...given, status: 'running' };
        }
      }),
    );
  }

  /** Waits until these tasks have ended or the time is up. Resolves to what became of them. */
  async wait(
    owner: SessionKey,
    tasks: readonly GivenTask[],
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<readonly SubagentTask[]> {
    const { clock = systemClock, pollMs } = this.#settings;
    const deadline = clock.now() + timeoutMs;
    for (;;) {
      const found = await this.look(owner, tasks);
      const open = found.filter(isOpen);
      const left = deadline - clock.now();
      if (open.length === 0 || left <= 0) return found;
      signal.throwIfAborted();
      const live = open.flatMap((task) => this.#liveOf(owner, task)?.done ?? []);
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
  async cancel(owner: SessionKey, given: GivenTask): Promise<boolean> {
    const key = taskKey(owner, given);
    const live = this.#liveOf(owner, given);
    live?.abort.abort();
    await live?.done;
    const [task] = await this.look(owner, live ? [] : [given]);
    const isLeft = task !== undefined && !isEnded(task);
    const isElsewhere = task?.status === 'running' && (await this.#control.send(key, { type: 'interrupt' }));
    // No process has begun it, so none has to stop it.
    if (isLeft && !isElsewhere) {
      await writeEnding(this.#store, key, given.callId, { status: 'cancelled' });
    }
    await this.#cancelBelow(key);
    return isLeft || live !== undefined;
  }

  /** Waits until none of the tasks runs here that the sessions of an agent gave. */
  async settled(agentId: string): Promise<void> {
    const running = [...this.#live.values()].filter(({ owner }) => owner.parts.agentId === agentId);
    await Promise.all(running.map(({ done }) => done));
  }

  /** Tells whether any task of the session runs here. */
  isBusy(owner: string): boolean {
    return [...this.#live.values()].some((live) => live.owner.toString() === owner);
  }

  #liveOf(owner: SessionKey, task: Pick<GivenTask, 'subagent' | 'taskId'>): LiveTask | undefined {
    return this.#live.get(taskKey(owner, task).toString());
  }

  #cancelBelow(owner: SessionKey): Promise<void> {
    return this.inTurn(owner, async () => {
      const stored = await this.#store.load(owner, { last: 1 });
      for (const task of givenTasks(stored?.head)) await this.cancel(owner, task);
    });
  }

  /** Resolves to the end of an order; to nothing when it had ended before. */
  async #work(
    order: TaskOrder,
    key: SessionKey,
    giver: Giver,
    signal: AbortSignal,
  ): Promise<TaskEnding | 'again' | undefined> {
    const { callId, taskId } = order;
    let ending: TaskEnding | undefined;
    try {
      if (endingIn(await this.#store.load(key, { last: 1 }), callId)) return undefined;
      ending = await giver.work(order, signal);
    } catch (error) {
      // Another process works on it: only that one may store an end.
      if (SessionLeaseError.isInstance(error)) return 'again';
      ending = { status: 'failed', error: errorText(error) };
    }
    if (ending === undefined && giver.runner !== undefined) return 'again';
    ending ??= { status: 'failed', error: LOST };
    try {
      if (ending.status === 'cancelled') await this.#cancelBelow(key);
      await writeEnding(this.#store, key, callId, ending);
    } catch (error) {
      // Nobody has the turn of its session any more, so the next reader takes it for failed.
      process.emitWarning(`The end of task ${taskId} could not be stored: ${errorText(error)}`);
    }
    return ending;
  }
}
