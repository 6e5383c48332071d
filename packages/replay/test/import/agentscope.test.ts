import { AgentState, textOf } from '@x/core';
import { expect, it } from 'vitest';
import { importConversation, stateFromAgentscope } from '../../src/index.js';

const at = '2026-01-31 09:30:00.000';
const document = {
  session_id: 's-1',
  user_id: 'alice',
  summary: '',
  context: [
    {
      id: '1',
      name: 'user',
      role: 'USER',
      content: [{ type: 'text', text: 'Read the plan' }],
      timestamp: at,
    },
    {
      id: '2',
      name: 'coder',
      role: 'ASSISTANT',
      content: [
        { type: 'thinking', thinking: 'I should look.' },
        { type: 'tool_use', id: 'call-1', name: 'read_file', input: { path: 'PLAN.md' }, state: 'finished' },
      ],
    },
    {
      id: '3',
      name: 'tool',
      role: 'TOOL',
      content: [
        {
          type: 'tool_result',
          id: 'call-1',
          name: 'read_file',
          output: [{ type: 'text', text: 'Step 1' }],
          state: 'success',
        },
      ],
    },
    { id: '4', name: 'coder', role: 'ASSISTANT', content: [{ type: 'text', text: 'Step 1 is first.' }] },
  ],
  tasks_context: { tasks: [{ id: 't', subject: 'Do step 1', description: '', state: 'in_progress' }] },
  plan_mode_context: { plan_active: true, current_plan_file: 'plans/PLAN.md' },
  permission_context: { mode: 'default', allow_rules: {} },
};

it('makes a state that is stored and read like any other', () => {
  const state = AgentState.fromJSON(JSON.parse(JSON.stringify(stateFromAgentscope(document).toJSON())));
  expect(state).toMatchObject({ sessionId: 's-1', userId: 'alice' });
  expect(state.context.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(state.context[0]?.createdAt).toBe('2026-01-31T09:30:00.000Z');
  expect(state.context[1]?.content).toMatchObject([
    { type: 'thinking', thinking: 'I should look.' },
    { type: 'tool_use', id: 'call-1', name: 'read_file', input: { path: 'PLAN.md' } },
  ]);
  expect(state.context.map(textOf).slice(2)).toEqual(['Step 1', 'Step 1 is first.']);
  expect(state.tasksContext.todos).toEqual([{ content: 'Do step 1', status: 'in_progress' }]);
  expect(state.planModeContext).toEqual({ active: true, planFile: 'plans/PLAN.md' });
});

it('keeps summaries as summaries, and calls on which a person decides open', () => {
  const summary = '<summary>The plan was read.</summary>';
  const call = (id: string, state: string) => ({
    type: 'tool_use',
    id,
    name: 'execute',
    input: { command: 'ls' },
    state,
  });
  const state = stateFromAgentscope({
    ...document,
    context: [
      {
        id: '__compaction_summary__:1',
        name: '__compaction_summary__',
        role: 'USER',
        content: [{ type: 'text', text: summary }],
      },
      { id: '2', name: 'user', role: 'USER', content: [{ type: 'text', text: 'Go on' }] },
      {
        id: '3',
        name: 'coder',
        role: 'ASSISTANT',
        content: [call('asked', 'asking'), call('lost', 'submitted')],
      },
    ],
  });
  const { context } = AgentState.fromJSON(JSON.parse(JSON.stringify(state.toJSON())));
  expect(context.map(({ role, kind }) => [role, kind])).toEqual([
    ['user', 'summary'],
    ['user', undefined],
    ['assistant', undefined],
    ['tool', undefined],
  ]);
  expect(context[0] && textOf(context[0])).toBe(summary);
  expect(context[3]?.content).toMatchObject([{ type: 'tool_result', toolUseId: 'lost', isError: true }]);
});

it('is read by x replay too', () => {
  const { format, messages } = importConversation(JSON.stringify(document));
  expect({ format, length: messages.length }).toEqual({ format: 'agentscope', length: 4 });
});

it('keeps the text of summary in front, once, and what tasks say', () => {
  const summary = 'The price of K-4711 is 6700.';
  const tasks = [{ id: 't', subject: 'Do step 1', description: 'with the key 42', state: 'pending' }];
  const state = stateFromAgentscope({ ...document, summary, tasks_context: { tasks } });
  expect(state.context[0]).toMatchObject({ role: 'user', kind: 'summary' });
  expect(state.context.map(textOf).filter((text) => text.includes(summary))).toHaveLength(1);
  expect(state.context).toHaveLength(5);
  expect(state.tasksContext.todos).toEqual([{ content: 'Do step 1: with the key 42', status: 'pending' }]);

  const held = { role: 'USER', name: '__compaction_summary__', content: `<summary>${summary}</summary>` };
  const twice = stateFromAgentscope({ ...document, summary, context: [held, ...document.context] });
  expect(twice.context.filter(({ kind }) => kind === 'summary')).toHaveLength(1);
});

it('keeps the text of summary for x replay too', () => {
  const { format, messages } = importConversation(JSON.stringify({ ...document, summary: 'It was 6700.' }));
  expect(format).toBe('agentscope');
  expect(messages.map(({ kind }) => kind)).toEqual(['summary', undefined, undefined, undefined, undefined]);
  expect(messages[0] && textOf(messages[0])).toBe('It was 6700.');
});

it('takes the session from whoever reads a document that names none, and says how', () => {
  const { session_id, ...unnamed } = document;
  expect(stateFromAgentscope(unnamed, { sessionId: 'from-its-file' }).sessionId).toBe('from-its-file');
  expect(stateFromAgentscope(document, { sessionId: 'other' }).sessionId).toBe(session_id);
  expect(() => stateFromAgentscope(unnamed)).toThrow(
    'session_id: is missing; name the session: stateFromAgentscope(document, { sessionId })',
  );
});

it('refuses what is no state, by its path', () => {
  expect(() => stateFromAgentscope({ ...document, session_id: '' })).toThrow('session_id');
});

it('reads the messages of version 1, and refuses a document whose messages it would lose', () => {
  const { context, summary: _, ...rest } = document;
  const old = { ...rest, memory: { messages: context } };
  expect(stateFromAgentscope(old).context).toEqual(stateFromAgentscope(document).context);
  const { format, messages } = importConversation(JSON.stringify(old));
  expect({ format, length: messages.length }).toEqual({ format: 'agentscope', length: 4 });
  expect(() => stateFromAgentscope(rest)).toThrow(
    'context: is missing; it holds the messages, or memory.messages',
  );
  expect(() => stateFromAgentscope({ ...rest, memory: { messages: [context[0], { said: 'Hi' }] } })).toThrow(
    'memory.messages[1]: is no message of AgentScope',
  );
  expect(stateFromAgentscope({ ...rest, context: [] }).context).toEqual([]);
});

it('reads session files, in which calls, results and summaries are entries of their own', () => {
  const line = (id: string, second: number, entry: object) =>
    JSON.stringify({ id, timestamp: `2026-01-31T09:30:0${second}Z`, ...entry });
  const { messages, compactions, unread } = importConversation(
    [
      line('m1', 0, { type: 'message', role: 'USER', content: 'Find the price' }),
      line('m2', 1, { type: 'message', role: 'ASSISTANT', content: 'I look.' }),
      line('m2:use:c1', 1, {
        type: 'tool_use',
        toolCallId: 'c1',
        name: 'read_file',
        input: { path: 'a.txt' },
      }),
      line('m3:result:c1', 2, {
        type: 'tool_result',
        toolCallId: 'c1',
        name: 'read_file',
        output: 'price 6700',
      }),
      line('k', 3, { type: 'compaction', firstKeptEntryId: 'm3:result:c1', summaryEntryId: 's' }),
      line('s', 3, { type: 'summary', summary: 'The price is asked for.' }),
      line('m4', 4, { type: 'message', role: 'ASSISTANT', content: 'It is 6700.' }),
      line('m5', 5, { type: 'message', role: 'USER', content: '', blockTypes: ['image'] }),
    ].join('\n'),
  );
  expect(unread).toEqual({});
  expect(messages).toMatchObject([
    { role: 'user', createdAt: '2026-01-31T09:30:00.000Z', content: [{ text: 'Find the price' }] },
    {
      role: 'assistant',
      content: [{ text: 'I look.' }, { type: 'tool_use', id: 'c1', input: { path: 'a.txt' } }],
    },
    { role: 'tool', createdAt: '2026-01-31T09:30:02.000Z', content: [{ output: [{ text: 'price 6700' }] }] },
    { role: 'assistant', content: [{ text: 'It is 6700.' }] },
    { role: 'user', content: [{ text: '[image: not in the file]' }] },
  ]);
  expect(compactions).toEqual([{ beforeIndex: 3, summary: 'The price is asked for.' }]);
});
