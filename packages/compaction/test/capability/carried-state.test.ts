import { AgentState, userMessage } from '@x/core';
import { expect, it } from 'vitest';
import { carriedState } from '../../src/capability/carried-state.js';

it('tells the todos that no reminder shows, the plan and its mode at the end of a summary, and nothing where there is none', () => {
  const state = AgentState.create({ sessionId: 's' });
  expect(carriedState(state)).toBeUndefined();
  state.tasksContext = { todos: [{ content: 'Read the tests', status: 'completed' }] };
  state.planModeContext = { active: true, planFile: 'plans/one.md' };
  expect(carriedState(state)).toBe('Todos:\n[x] Read the tests\nPlan: plans/one.md\nPlan mode is on.');
  const reminder = userMessage('<todo_list>\n[x] Read the tests\n</todo_list>');
  expect(carriedState(state, [reminder])).toBe('Plan: plans/one.md\nPlan mode is on.');
});
