import type { AgentState, CallScope, SessionKey } from '@x/core';
import type { Subagent } from './subagent-definition.js';
import { NAME } from './subagents-config.js';
import { isOpen, type TaskRecord } from './task-records.js';

/**
 * The subagents and tasks that one call of the parent knows of. Which ends of tasks the model was told is part of the state:
 * one commit stores it together with the model's answer, so the model hears of each end exactly once, also across a crash.
 */
export class TeamSession {
  readonly scope: CallScope;
  readonly owner: SessionKey;
  readonly subagents: ReadonlyMap<string, Subagent>;
  /** Tasks whose end has not been told yet, as far as this call knows. */
  readonly untold: Set<string>;
  /** In the view of the step that is being made. */
  #showing: readonly string[] = [];

  /** @param records The session's tasks as the call begins. */
  constructor(
    scope: CallScope,
    owner: SessionKey,
    subagents: ReadonlyMap<string, Subagent>,
    records: readonly TaskRecord[],
  ) {
    this.scope = scope;
    this.owner = owner;
    this.subagents = subagents;
    const told = toldIn(scope.state);
    const known = records.map(({ taskId }) => taskId);
    this.untold = new Set(known.filter((taskId) => !told.includes(taskId)));
    // Tasks that have been forgotten need not be remembered here.
    this.#keep(told.filter((taskId) => known.includes(taskId)));
  }

  begun(taskId: string): void {
    this.untold.add(taskId);
    // One that goes on after it waited for approval ends anew.
    this.#keep(toldIn(this.scope.state).filter((known) => known !== taskId));
  }

  /** Finds the tasks among `records` whose end is to be told in this step's view. */
  show(records: readonly TaskRecord[]): readonly TaskRecord[] {
    const news = records.filter((record) => !isOpen(record) && this.untold.has(record.taskId));
    this.#showing = news.map(({ taskId }) => taskId);
    return news;
  }

  /** Records that the model has answered: it knows what was shown. */
  answered(): void {
    this.told(this.#showing);
    this.#showing = [];
  }

  /** Records that the model was told of the end of these tasks. */
  told(taskIds: readonly string[]): void {
    const news = taskIds.filter((taskId) => this.untold.delete(taskId));
    this.#keep([...toldIn(this.scope.state), ...news]);
  }

  #keep(announced: readonly string[]): void {
    const { extensions } = this.scope.state;
    if (announced.length === toldIn(this.scope.state).length) return;
    extensions[NAME] = { ...extensions[NAME], announced };
  }
}

function toldIn(state: AgentState): readonly string[] {
  const announced = state.extensions[NAME]?.announced;
  return Array.isArray(announced) ? announced.filter((taskId) => typeof taskId === 'string') : [];
}
