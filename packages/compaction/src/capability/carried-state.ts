import { type AgentState, type Message, textOf } from '@x/core';
import { renderTodos } from '@x/core/internal';

/** Renders the todo list and the state of the plan for the end of every summary. Skips a todo list that a reminder already shows. */
export function carriedState(state: AgentState, reminders: readonly Message[] = []): string | undefined {
  const sections: string[] = [];
  const todos = renderTodos(state.tasksContext.todos);
  const isShown = reminders.some((reminder) => textOf(reminder).includes(todos));
  if (todos !== '' && !isShown) sections.push(`Todos:\n${todos}`);
  const { planFile, active } = state.planModeContext;
  if (planFile) sections.push(`Plan: ${planFile}`);
  if (active) sections.push('Plan mode is on.');
  return sections.length > 0 ? sections.join('\n') : undefined;
}
