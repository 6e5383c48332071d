import type { AgentState } from '@x/core';
import { NAME } from './subagents-config.js';
import { isOpen, type TaskRecord } from './task-repository.js';

/**
 * Finished tasks that the model already knows of. They are part of the state, so one commit stores them together with the
 * model's answer: the model hears of each end exactly once, also across a crash.
 */
export class SessionTasks {
  readonly #state: AgentState;
  /** Tasks whose end has not been told yet, as far as this call knows. */
  readonly #open: Set<string>;
  /** In the view of the step that is being made. */
  #showing: readonly string[] = [];

  /** @param records The session's tasks as the call begins. */
  constructor(state: AgentState, records: readonly TaskRecord[]) {
    this.#state = state;
    const announced = announcedIn(state);
    this.#open = new Set(records.map(({ taskId }) => taskId).filter((taskId) => !announced.includes(taskId)));
    // Tasks that the repository has forgotten need not be remembered here.
    const known = new Set(records.map(({ taskId }) => taskId));
    if (announced.some((taskId) => !known.has(taskId))) {
      this.#store(announced.filter((taskId) => known.has(taskId)));
    }
  }

  get open(): ReadonlySet<string> {
    return this.#open;
  }

  begun(taskId: string): void {
    this.#open.add(taskId);
    // One that goes on after it waited for approval ends anew.
    const announced = announcedIn(this.#state);
    if (announced.includes(taskId)) this.#store(announced.filter((known) => known !== taskId));
  }

  /** The tasks among `records` whose end is to be told in this step's view. */
  show(records: readonly TaskRecord[]): readonly TaskRecord[] {
    const news = records.filter((record) => !isOpen(record) && this.#open.has(record.taskId));
    this.#showing = news.map(({ taskId }) => taskId);
    return news;
  }

  /** The model has answered: it knows what was shown. */
  answered(): void {
    this.told(this.#showing);
    this.#showing = [];
  }

  /** Records that a tool's result told the model of the end of these tasks. */
  told(taskIds: readonly string[]): void {
    const news = taskIds.filter((taskId) => this.#open.delete(taskId));
    if (news.length > 0) this.#store([...announcedIn(this.#state), ...news]);
  }

  #store(announced: readonly string[]): void {
    this.#state.extensions[NAME] = { ...this.#state.extensions[NAME], announced };
  }
}

function announcedIn(state: AgentState): readonly string[] {
  const announced = state.extensions[NAME]?.announced;
  return Array.isArray(announced) ? announced.filter((taskId) => typeof taskId === 'string') : [];
}
