import { describe, expect, test } from 'vitest';
import { AgentState, assistantMessage, InvalidInputError, userMessage } from '../../src/index.js';
import { AGENT_STATE_VERSION, PERMISSION_MODES, renderTodos } from '../../src/internal.js';
import { errorOf } from '../error-of.js';

function pathsOf(action: () => unknown): readonly string[] {
  const error = errorOf(action);
  if (!InvalidInputError.isInstance(error)) throw error;
  return error.issues.map(({ path }) => path);
}

/** A state with something in every part. */
function fullState(): AgentState {
  const state = AgentState.create({ sessionId: 's-001', userId: 'alice', tenantId: 'acme' });
  state
    .contextMutable()
    .push(
      userMessage('Summary of before.', { kind: 'summary' }),
      userMessage('Go on.'),
      assistantMessage([{ type: 'tool_use', id: 'c1', name: 'search', input: { query: 'x' } }]),
    );
  state.activeCall = { callId: 'call-1', startedAt: '2026-01-01T00:00:00.000Z' };
  state.permissionContext = {
    mode: 'accept_edits',
    allow: [{ tool: 'read_file' }],
    deny: [{ tool: 'execute', match: 'rm *' }],
    ask: [],
  };
  state.planModeContext = { active: true, planFile: 'plans/a.md' };
  state.tasksContext = { todos: [{ content: 'Write it down', status: 'in_progress' }] };
  state.toolContext = { activatedGroups: ['search'] };
  state.extensions['acme.counter'] = { calls: 3 };
  return state;
}

const stored = (state: AgentState) => JSON.parse(JSON.stringify(state)) as Record<string, unknown>;

describe('AgentState.create', () => {
  test('is empty, with the defaults of every part', () => {
    const state = AgentState.create({ sessionId: 's-001' });
    expect(state.context).toEqual([]);
    expect(state.summary).toBeUndefined();
    expect(stored(state)).toEqual({
      schemaVersion: AGENT_STATE_VERSION,
      sessionId: 's-001',
      permissionContext: { allow: [], deny: [], ask: [] },
      planModeContext: { active: false },
      tasksContext: { todos: [] },
      toolContext: { activatedGroups: [] },
      extensions: {},
      context: [],
    });
  });

  test('shares nothing with another', () => {
    const [first, second] = [AgentState.create({ sessionId: 'a' }), AgentState.create({ sessionId: 'b' })];
    first.tasksContext.todos.push({ content: 'x', status: 'pending' });
    first.extensions.mine = {};
    first.contextMutable().push(userMessage('x'));
    expect([second.tasksContext.todos, second.extensions, second.context]).toEqual([[], {}, []]);
  });

  test('refuses empty ids and unknown keys', () => {
    expect(pathsOf(() => AgentState.create({ sessionId: '' }))).toEqual(['sessionId']);
    expect(pathsOf(() => AgentState.create({ sessionId: 's', userId: '' }))).toEqual(['userId']);
    expect(pathsOf(() => AgentState.create({ sessionId: 's', user: 'alice' } as never))).toEqual(['user']);
  });
});

describe('AgentState.context', () => {
  test('is the list that contextMutable changes', () => {
    const state = AgentState.create({ sessionId: 's' });
    const message = userMessage('Hello');
    state.contextMutable().push(message);
    expect(state.context).toEqual([message]);
    expect(state.context[0]).toBe(message);
    state.contextMutable().length = 0;
    expect(state.context).toEqual([]);
  });

  test('summary is the text of the last message of that kind', () => {
    const state = AgentState.create({ sessionId: 's' });
    state.contextMutable().push(userMessage('first', { kind: 'summary' }), userMessage('plain'));
    expect(state.summary).toBe('first');
    state
      .contextMutable()
      .push(userMessage('second', { kind: 'summary' }), userMessage('x', { kind: 'synthetic' }));
    expect(state.summary).toBe('second');
  });
});

describe('AgentState as JSON', () => {
  test('comes back as it was', () => {
    const state = fullState();
    const again = AgentState.fromJSON(stored(state));
    expect(stored(again)).toEqual(stored(state));
    expect(again.context).toEqual(state.context);
    expect([again.sessionId, again.userId, again.tenantId]).toEqual(['s-001', 'alice', 'acme']);
    expect(again.summary).toBe('Summary of before.');
    expect(JSON.stringify(AgentState.fromJSON(stored(again)))).toBe(JSON.stringify(state));
  });

  test('head has all but the context, as a copy', () => {
    const state = fullState();
    const { context: _, ...rest } = stored(state);
    const head = state.head();
    expect(head).toEqual(rest);
    state.tasksContext.todos.pop();
    expect(head.tasksContext).toEqual({ todos: [{ content: 'Write it down', status: 'in_progress' }] });
  });

  test('keeps what a message has beyond this version', () => {
    const json = {
      ...stored(AgentState.create({ sessionId: 's' })),
      context: [{ ...userMessage('a'), pinned: true }],
    };
    expect(AgentState.fromJSON(json).context[0]).toMatchObject({ pinned: true });
  });

  test('fromParts takes the messages as they are, in a list of its own', () => {
    const messages = [userMessage('a')];
    const state = AgentState.fromParts(fullState().head(), messages);
    expect(state.context[0]).toBe(messages[0]);
    state.contextMutable().pop();
    expect(messages).toHaveLength(1);
  });

  test.each([
    [
      'a bad block',
      { context: [userMessage('a'), { ...userMessage('b'), content: [{ type: 'text' }] }] },
      'context[1].content[0].text',
    ],
    ['a bad message', { context: [{ ...userMessage('a'), id: '' }] }, 'context[0].id'],
    ['a missing context', { context: undefined }, 'context'],
    ['a context that is no list', { context: {} }, 'context'],
    [
      'a bad todo',
      { tasksContext: { todos: [{ content: 'x', status: 'doing' }] } },
      'tasksContext.todos[0].status',
    ],
    ['a bad mode', { permissionContext: { mode: 'yolo' } }, 'permissionContext.mode'],
    ['a bad rule', { permissionContext: { deny: [{ tool: '' }] } }, 'permissionContext.deny[0].tool'],
    ['an unknown key', { color: 'red' }, 'color'],
    ['an unknown key within', { planModeContext: { active: true, plan: 'x' } }, 'planModeContext.plan'],
    ['a bad extension', { extensions: { mine: [] } }, 'extensions.mine'],
    ['an empty session id', { sessionId: '' }, 'sessionId'],
    ['a version that is no number', { schemaVersion: '1' }, 'schemaVersion'],
    ['no version', { schemaVersion: undefined }, 'schemaVersion'],
    ['version 0', { schemaVersion: 0 }, 'schemaVersion'],
  ])('refuses %s and names its path', (_, change, path) => {
    expect(pathsOf(() => AgentState.fromJSON({ ...stored(fullState()), ...change }))).toEqual([path]);
  });

  test.each([null, undefined, 'text', 5, []])('refuses %j for a state', (json) => {
    expect(errorOf(() => AgentState.fromJSON(json)).message).toMatch('must be a JSON object');
  });

  test('a newer version is told apart from damage, whatever else it changed', () => {
    const json = {
      ...stored(fullState()),
      schemaVersion: AGENT_STATE_VERSION + 1,
      context: 'packed',
      color: 'red',
    };
    expect(pathsOf(() => AgentState.fromJSON(json))).toEqual(['schemaVersion']);
    expect(errorOf(() => AgentState.fromJSON(json)).message).toMatch(
      'is 2, but this release of @x/core reads only version 1',
    );
  });
});

test.each([
  [2, 'is 2,'],
  [0, 'is 0,'],
  [1.5, 'is 1.5,'],
  [null, 'is null,'],
  [undefined, 'is missing,'],
])('refuses a state of version %j', (schemaVersion, message) => {
  const state = { ...stored(fullState()), schemaVersion };
  for (const read of [() => AgentState.fromJSON(state), () => AgentState.fromParts(state, [])]) {
    expect(pathsOf(read)).toEqual(['schemaVersion']);
    expect(errorOf(read).message).toContain(message);
  }
});

describe('AgentState.check', () => {
  const ring: Record<string, unknown> = {};
  ring.again = ring;

  test.each([
    ['what JSON has no word for', { calls: 1n }, /^extensions\.acme\.calls$/],
    ['what holds itself', ring, /^extensions\.acme\.again\.again/],
  ])('names the path of %s', (_, value, path) => {
    const state = fullState();
    state.check();
    state.extensions.acme = value as never;
    expect(pathsOf(() => state.check())).toEqual([expect.stringMatching(path)]);
  });
});

describe('renderTodos', () => {
  test('gives each item a line with its mark', () => {
    const todos = [
      { content: 'Read the tests', status: 'completed' },
      { content: 'Fix the parser', status: 'in_progress' },
      { content: 'Write a changeset', status: 'pending' },
    ] as const;
    expect(renderTodos(todos)).toBe('[x] Read the tests\n[>] Fix the parser\n[ ] Write a changeset');
    expect(renderTodos([])).toBe('');
  });
});

test.each(PERMISSION_MODES)('the permission mode %s is stored and restored', (mode) => {
  const state = AgentState.create({ sessionId: 's' });
  state.permissionContext = { ...state.permissionContext, mode };
  expect(AgentState.fromJSON(state.toJSON()).permissionContext.mode).toBe(mode);
});
