import { assistantMessage, type Todo } from '@x/core';
import { expect, it } from 'vitest';
import type { Sent } from '../src/page.js';
import { announce, announcement } from '../web/src/state/announcer.js';

const announced = (...items: object[]) => {
  announcement.value = '';
  announce(items as Sent[]);
  return announcement.value;
};
const completed = (...content: Parameters<typeof assistantMessage>) => ({
  type: 'model.completed',
  message: assistantMessage(...content),
});
const ended = (stopReason: string) => ({ type: 'call.completed', stopReason });
const call = { id: 'c', name: 'write_file', input: { path: 'ideas.md', content: 'one' } };

it('speaks an answer as a whole at its end, with names as they are and without marks', () => {
  const text = '## Done\n- It is **in** `memory_save` and `__init__`, says _this_ a_b. More.';
  expect(announced({ type: 'text.delta', text }, completed(text))).toBe('');
  expect(announced(ended('completed'))).toBe(
    'Done\nIt is in memory_save and __init__, says this a_b. More. Reply complete.',
  );
});

it('speaks of work by its todos, not by its tools and remarks', () => {
  const state = (...todos: Todo['status'][]) => ({
    type: 'state',
    state: {
      todos: todos.map((status, index) => ({ content: `Survey area ${index}`, status })),
      pending: [],
    },
  });
  expect(announced({ type: 'history', events: [] }, state('completed', 'pending', 'pending'))).toBe('');
  const step = [
    { type: 'text.delta', text: 'Looking at it. And' },
    completed([
      { type: 'text', text: 'Looking at it. And then.' },
      { type: 'tool_use', ...call },
    ]),
    { type: 'tool.call', call },
  ];
  expect(announced(...step)).toBe('');
  expect(announced(state('completed', 'completed', 'in_progress'))).toBe('Done: Survey area 1.');
  expect(announced(ended('interrupted'))).toBe(
    'Stopped. Everything up to here is kept. Say “go on” to continue.',
  );
});

it('speaks of a warning', () => {
  const warning = { type: 'warning', source: 'compaction', message: 'The record keeps no `ideas`.' };
  expect(announced(warning)).toBe('The record keeps no ideas.');
});

it('speaks of a question that waits, and of what was decided', () => {
  const opened = { type: 'state', state: { todos: [], pending: [call] } };
  expect(announced({ type: 'history', events: [] }, opened)).toBe('It waits for your decision.');
  expect(announced(opened)).toBe('');
  expect(announced({ type: 'permission.required', calls: [call] })).toBe(
    'It wants to write ideas.md. It waits for your decision.',
  );
  expect(announced(ended('permission_required')), 'nothing replaces the question').toBe('');
  expect(
    announced({ type: 'permission.decided', decision: 'denied', call }, { type: 'tool.call', call }),
  ).toBe('You did not allow it to write ideas.md.');
});
