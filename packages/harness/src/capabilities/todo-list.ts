import { type Capability, defineTool, estimateCounter, InvalidInputError, userMessage } from '@x/core';
import { escapeTags, renderTodos } from '@x/core/internal';
import * as z from 'zod';

/** Maximum estimated tokens of a list. Every request contains the whole list, and compaction cannot shrink it. */
const MAX_TOKENS = 3_000;

const todoWrite = defineTool({
  name: 'todo_write',
  description:
    'Replaces your todo list. Write the whole list each time, with at most one item in_progress. Use it for work with ' +
    'more than a few steps, and keep it up to date: you still see it after older messages were compacted.',
  sessionOnly: true,
  input: z.strictObject({
    todos: z
      .array(
        z.strictObject({
          content: z.string().trim().min(1).describe('What to do, in a few words'),
          status: z.enum(['pending', 'in_progress', 'completed']),
        }),
      )
      .describe('The whole list, in order'),
  }),
  execute({ todos }, { state }) {
    const active = todos.filter((todo) => todo.status === 'in_progress');
    if (active.length > 1) {
      throw new InvalidInputError('input of tool todo_write', [
        { path: 'todos', message: `${active.length} items are in_progress; at most one may be` },
      ]);
    }
    const tokens = estimateCounter.count(renderTodos(todos));
    if (tokens > MAX_TOKENS) {
      const message = `the list has about ${tokens} tokens, but at most ${MAX_TOKENS} are allowed; use shorter texts, or omit completed items`;
      throw new InvalidInputError('input of tool todo_write', [{ path: 'todos', message }]);
    }
    state.tasksContext = { todos };
    const done = todos.filter((todo) => todo.status === 'completed').length;
    return todos.length === 0
      ? 'The todo list is empty now.'
      : `Todo list stored: ${done} of ${todos.length} done.`;
  },
});

/**
 * Adds `todo_write`, with which the model keeps a todo list in `state.tasksContext`. Every model request ends with a
 * reminder that shows the list. The reminder itself is stored in neither the state nor the log.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(todoList());
 * ```
 */
export function todoList(): Capability {
  return {
    name: 'todo_list',
    tools: [todoWrite],
    remind({ state }) {
      const { todos } = state.tasksContext;
      if (todos.length === 0) return [];
      return [
        userMessage(`<todo_list>\n${escapeTags(renderTodos(todos), 'todo_list')}\n</todo_list>`, {
          id: 'todo-reminder',
          kind: 'synthetic',
        }),
      ];
    },
  };
}
