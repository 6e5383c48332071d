import type { AgentState } from '@x/core';

const MARKS = { pending: ' ', in_progress: '~', completed: 'x' } as const;

/** What stands behind every summary word for word: the todo list, and where the plan is. */
export function carriedState(state: AgentState): string | undefined {
  const lines = state.tasksContext.todos.map(({ content, status }) => `- [${MARKS[status]}] ${content}`);
  const sections: string[] = [];
  if (lines.length > 0) sections.push(`Todos:\n${lines.join('\n')}`);
  const { planFile, active } = state.planModeContext;
  if (planFile) sections.push(`Plan: ${planFile}`);
  if (active) sections.push('Plan mode is on.');
  return sections.length > 0 ? sections.join('\n') : undefined;
}
