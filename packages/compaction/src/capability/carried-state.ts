import type { AgentState } from '@x/core';
import { renderTodos } from '@x/core/internal';

/** Renders the todo list and the place of the plan, for the end of every summary. */
export function carriedState(state: AgentState): string | undefined {
  const { todos } = state.tasksContext;
  const sections: string[] = [];
  if (todos.length > 0) sections.push(`Todos:\n${renderTodos(todos)}`);
  const { planFile, active } = state.planModeContext;
  if (planFile) sections.push(`Plan: ${planFile}`);
  if (active) sections.push('Plan mode is on.');
  return sections.length > 0 ? sections.join('\n') : undefined;
}
