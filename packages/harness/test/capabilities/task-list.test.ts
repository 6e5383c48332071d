import { RuntimeContext, textOf, toolResultsOf, userMessage } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent, taskList } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });

describe('taskList', () => {
  it('keeps the list in the state and in the view of every step, and nowhere else', async () => {
    const todos = [
      { content: 'read', status: 'completed' },
      { content: 'write', status: 'in_progress' },
    ];
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'todo_write', input: { todos } }] },
      { text: 'ok' },
      { text: 'ok' },
    ]);
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).use(taskList()).build();
    await agent.call('go', context);
    await agent.call('go on', context);
    expect(model.requests[0]?.messages).toHaveLength(1);
    for (const request of model.requests.slice(1)) {
      const last = request.messages.at(-1);
      expect(last?.kind).toBe('synthetic');
      expect(textOf(last ?? [])).toBe('<todo_list>\n[x] read\n[>] write\n</todo_list>');
    }
    const state = await agent.state(context);
    expect(state?.tasksContext).toEqual({ todos });
    expect(state?.context.some((message) => message.kind === 'synthetic')).toBe(false);
  });

  it('refuses two items in progress', async () => {
    const todos = [
      { content: 'a', status: 'in_progress' },
      { content: 'b', status: 'in_progress' },
    ];
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'todo_write', input: { todos } }] },
      { text: 'ok' },
    ]);
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).use(taskList()).build();
    await agent.call('go', context);
    const [result] = toolResultsOf(model.requests[1]?.messages.at(-1) ?? userMessage(''));
    expect(result?.isError).toBe(true);
    expect((await agent.state(context))?.tasksContext.todos).toEqual([]);
  });
});
