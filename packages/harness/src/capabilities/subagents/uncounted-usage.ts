import { addUsage, type Usage } from '@x/core';
import { RecentMap } from '@x/core/internal';

/** Maximum number of sessions whose usage is kept. Beyond it, the oldest is dropped. */
const MAX_SESSIONS = 1_000;

/** Tokens that a subagent used of one model, before a call of its parent has counted them. */
export interface TaskUsage {
  readonly taskId: string;
  readonly modelId: string;
  readonly usage: Usage;
}

/** Keeps what subagents use while no call of their parent runs in this process. */
export class UncountedUsage {
  readonly #bySession = new RecentMap<string, readonly TaskUsage[]>(MAX_SESSIONS);

  add(session: string, used: TaskUsage): void {
    const all = this.#bySession.get(session) ?? [];
    const isSame = ({ taskId, modelId }: TaskUsage) => taskId === used.taskId && modelId === used.modelId;
    const usage = all.filter(isSame).reduce((sum, earlier) => addUsage(sum, earlier.usage), used.usage);
    this.#bySession.set(session, [...all.filter((each) => !isSame(each)), { ...used, usage }]);
  }

  /** Removes and returns the usage of all tasks of a session, or of one task. */
  take(session: string, taskId?: string): readonly TaskUsage[] {
    const all = this.#bySession.get(session) ?? [];
    const isTaken = (used: TaskUsage) => taskId === undefined || used.taskId === taskId;
    const rest = all.filter((used) => !isTaken(used));
    // Most sessions have no usage here. If they were stored, they would evict sessions that have usage.
    if (rest.length > 0) this.#bySession.set(session, rest);
    else this.#bySession.delete(session);
    return all.filter(isTaken);
  }
}
