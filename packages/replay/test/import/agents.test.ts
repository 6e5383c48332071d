import { textOf, toolResultsOf } from '@x/core';
import { describe, expect, it } from 'vitest';
import { importConversation, repairLog } from '../../src/index.js';
import { logs } from './logs.js';

const jsonl = (...rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
const at = '2026-01-02T03:04:05.000Z';

it.each(['gemini-cli', 'opencode', 'copilot-cli'] as const)(
  'tells the session and the model of %s',
  (name) => {
    expect(importConversation(logs[name])).toMatchObject({ id: 's-1', model: 'some-model' });
  },
);

it.each(['gemini-cli', 'opencode'] as const)('tells what %s was billed', (name) => {
  const [usage] = importConversation(logs[name]).usage;
  expect(usage).toMatchObject({ index: 1, inputTokens: 10, cachedInputTokens: 90, outputTokens: 5 });
});

describe('undone messages', () => {
  const turn = (id: string, type: string) => ({ id, type, content: `${type} ${id}`, timestamp: at });

  it('is left out of a log of Gemini CLI, and counted', () => {
    const rows = [
      { sessionId: 's-1', projectHash: 'h' },
      ...[turn('1', 'user'), turn('2', 'gemini'), turn('3', 'user'), turn('4', 'gemini')],
      { ...turn('4', 'gemini'), content: 'again' },
      { $rewindTo: '3' },
      turn('5', 'user'),
    ];
    const { messages, unread } = importConversation(jsonl(...rows));
    expect(messages.map((message) => textOf(message))).toEqual(['user 1', 'gemini 2', 'user 5']);
    expect(unread).toEqual({ 'undone message': 2 });
  });

  it('is left out of a log of opencode', () => {
    const log = JSON.parse(logs.opencode);
    log.info.revert = { messageID: 'm3' };
    const { messages, unread } = importConversation(JSON.stringify(log));
    expect(messages).toHaveLength(3);
    expect(unread).toEqual({ 'undone message': 1 });
  });

  it('is left out of a log of Codex', () => {
    const line = (type: string, payload: object) => ({ timestamp: at, type, payload });
    const said = (role: string, words: string) =>
      line('response_item', { type: 'message', role, content: [{ type: 'text', text: words }] });
    const { messages, unread } = importConversation(
      jsonl(
        said('user', 'q1'),
        said('assistant', 'a1'),
        said('user', 'wrong'),
        said('assistant', 'a2'),
        line('event_msg', { type: 'thread_rolled_back', num_turns: 1 }),
        said('user', 'right'),
      ),
    );
    expect(messages.map((message) => textOf(message))).toEqual(['q1', 'a1', 'right']);
    expect(unread).toEqual({ 'undone message': 2 });
  });
});

it('reads rows of Qwen Code, which hold messages of Gemini', () => {
  const row = (type: string, uuid: string, parentUuid: string | null, parts: readonly object[]) => ({
    ...{ type, uuid, parentUuid, sessionId: 's-1', timestamp: at },
    message: { role: type === 'assistant' ? 'model' : 'user', parts },
  });
  const { messages } = importConversation(
    jsonl(
      row('user', '1', null, [{ text: 'list files' }]),
      row('assistant', '2', '1', [{ functionCall: { id: 'c', name: 'ls', args: {} } }]),
      row('tool_result', '3', '2', [
        { functionResponse: { id: 'c', name: 'ls', response: { output: 'a' } } },
      ]),
      row('assistant', '4', '3', [{ text: 'a' }]),
    ),
  );
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

it.each([
  [
    'constructors',
    { lc: 1, type: 'constructor', id: ['langchain', 'HumanMessage'], kwargs: { content: 'hi' } },
  ],
  ['stored messages', { type: 'human', data: { content: 'hi' } }],
  ['plain messages', { type: 'human', content: 'hi' }],
])('reads messages of LangChain that were written as %s', (_, message) => {
  const { format, messages } = importConversation(JSON.stringify([message]));
  expect([format, messages.map((each) => textOf(each))]).toEqual(['langchain', ['hi']]);
});

it('reads a checkpoint of LangGraph', () => {
  const messages = [{ type: 'human', content: 'hi' }];
  const checkpoint = { v: 4, channel_values: { messages } };
  expect(importConversation(JSON.stringify({ checkpoint })).messages).toHaveLength(1);
});

it('reads what Claude Code prints with --output-format stream-json', () => {
  const log = jsonl(
    { type: 'system', subtype: 'init', session_id: 's-1', model: 'some-model' },
    { type: 'user', session_id: 's-1', message: { role: 'user', content: 'Read a.ts' } },
    {
      type: 'assistant',
      session_id: 's-1',
      message: {
        id: 'm1',
        model: 'some-model',
        content: [{ type: 'tool_use', id: 'c-1', name: 'read_file', input: { path: 'a.ts' } }],
        usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 90 },
      },
    },
    {
      type: 'user',
      session_id: 's-1',
      message: {
        content: [{ type: 'tool_result', tool_use_id: 'c-1', content: 'no such file', is_error: true }],
      },
    },
    {
      type: 'assistant',
      session_id: 's-1',
      message: { id: 'm2', content: [{ type: 'text', text: 'It is missing.' }] },
    },
    { type: 'result', subtype: 'success', result: 'It is missing.', session_id: 's-1' },
  );
  const { messages, unread, model, usage } = importConversation(log);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(messages.flatMap((message) => toolResultsOf(message))[0]?.isError).toBe(true);
  expect([unread, model, usage.length]).toEqual([{}, 'some-model', 1]);
  // The rows of a stream have ids, and name no parents that could be lost.
  const rows = log.split('\n').map((row, index) => JSON.stringify({ ...JSON.parse(row), uuid: `u${index}` }));
  expect(repairLog(rows.join('\n')).unreachable).toBe(0);
});

describe('a log of Factory Droid', () => {
  const said = (id: string, parentId: string, role: string, content: unknown) => ({
    ...{ type: 'message', id, parentId, timestamp: at },
    message: { role, content },
  });
  const rows = [
    { type: 'session_start', id: 's-1', version: 2 },
    said('m1', 's-1', 'user', [{ type: 'text', text: 'Run it' }]),
    said('m2', 'm1', 'assistant', [
      { type: 'tool_use', id: 't1', name: 'Execute', input: { command: 'ls' } },
    ]),
    said('m3', 'm2', 'user', [{ type: 'tool_result', tool_use_id: 't1', content: 'a.txt' }]),
    said('m4', 'm3', 'assistant', [{ type: 'text', text: 'Done' }]),
  ];

  it.each([
    ['whole', rows],
    ['without its first row', rows.slice(1)],
  ])('is not taken for one of pi: %s', (_, some) => {
    const { format, messages, unread } = importConversation(jsonl(...some));
    expect(format).toBe('droid');
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ toolUseId: 't1', toolName: 'Execute' }]);
    expect(unread).toEqual(some === rows ? {} : { 'row with a missing parent': 1 });
  });

  it('leaves out what was rewound, and bridges a row that was lost', () => {
    const again = said('m5', 'm3', 'assistant', [{ type: 'text', text: 'Else' }]);
    expect(importConversation(jsonl(...rows, again)).unread).toEqual({
      'message of an abandoned branch': 1,
    });
    const torn = rows.filter((row) => row !== rows[3]);
    expect(importConversation(jsonl(...torn)).unread).toEqual({ 'row with a missing parent': 1 });
  });
});

it('says that the events of Droid’s exec are no format that it knows', () => {
  const rows = [
    { type: 'system', session_id: 's', timestamp: at, model: 'm' },
    { type: 'message', session_id: 's', timestamp: at, role: 'user', text: 'Run it' },
    {
      type: 'tool_call',
      session_id: 's',
      timestamp: at,
      toolCallId: 'c1',
      toolName: 'Shell',
      parameters: {},
    },
    { type: 'tool_result', session_id: 's', timestamp: at, toolCallId: 'c1', value: 'a.txt' },
  ];
  expect(() => importConversation(jsonl(...rows))).toThrow('The log has no entry of a known format.');
});

describe('a result without a message around it', () => {
  const result = { type: 'tool_result', tool_use_id: 't1', content: 'a.txt', is_error: true };
  const call = [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }];

  it.each([
    [
      'claude-code',
      [
        { type: 'user', timestamp: at, message: { role: 'user', content: 'Run it' } },
        { type: 'assistant', timestamp: at, message: { role: 'assistant', content: call } },
        { ...result, timestamp: at },
      ],
    ],
    [
      'anthropic-messages',
      [{ role: 'user', content: 'Run it' }, { role: 'assistant', content: call }, result],
    ],
  ])('is read in %s', (name, rows) => {
    const { format, messages, unread } = importConversation(JSON.stringify(rows));
    expect([format, unread]).toEqual([name, {}]);
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { toolUseId: 't1', toolName: 'Bash', isError: true, output: [{ text: 'a.txt' }] },
    ]);
  });
});
