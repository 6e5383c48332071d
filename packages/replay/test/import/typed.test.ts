import { textOf, userMessage } from '@x/core';
import { expect, it } from 'vitest';
import { importConversation } from '../../src/index.js';

const claude = (content: unknown, more: object = {}) => ({
  type: 'user',
  uuid: crypto.randomUUID(),
  sessionId: 's',
  message: { role: 'user', content },
  ...more,
});
const codex = (text: string) => ({
  type: 'response_item',
  payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
const text = (text: string) => ({ type: 'text', text });

/** The texts in the user's role: those of the user, and those that a program wrote. */
function textsOf(rows: readonly object[]) {
  const { messages } = importConversation(rows.map((row) => JSON.stringify(row)).join('\n'));
  const users = messages.filter(({ role }) => role === 'user');
  return {
    typed: users.filter(({ kind }) => kind === undefined).map((message) => textOf(message)),
    written: users.filter(({ kind }) => kind === 'synthetic').map((message) => textOf(message)),
  };
}

it.each([
  ['meta', claude('Caveat: …', { isMeta: true })],
  ['the output of a command', claude('<local-command-stdout>ok</local-command-stdout>')],
  ['a command without words', claude('<command-name>/clear</command-name>\n<command-args></command-args>')],
  ['an interruption', claude([text('[Request interrupted by user for tool use]')])],
  ['a reminder', claude([text('<system-reminder>\nx\n</system-reminder>')])],
  [
    'the context of a hook',
    claude('<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>'),
  ],
  ['a notification', claude('A task ended.', { subtype: 'notification' })],
  ['a hook at the end', claude('Stop hook feedback:\nrun the tests')],
  ['a hook of a prompt', claude('<user-prompt-submit-hook>x</user-prompt-submit-hook>')],
  ['a command of the user', claude('<bash-input>ls</bash-input><bash-stdout>a</bash-stdout>')],
  ['another agent', claude('<teammate-message teammate_id="a">x</teammate-message>')],
  ['a tool', claude([text('run the tests')], { toolUseResult: 'ok' })],
  ['a tool, in a row of its own type', claude('run the tests', { type: 'tool_result' })],
  ['a hook of Codex', codex('<hook_prompt hook_run_id="a">x</hook_prompt>')],
  ['the environment', codex('<environment_context>\n  <cwd>/p</cwd>\n</environment_context>')],
  [
    'the instructions of a project',
    codex('# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>x</INSTRUCTIONS>'),
  ],
])('marks what a program wrote in the user’s role: %s', (_, row) => {
  const own = row.type === 'response_item' ? codex('fix it') : claude('fix it');
  const { typed, written } = textsOf([row, own]);
  expect(typed).toEqual(['fix it']);
  expect(written).toHaveLength(1);
});

it('marks what early versions of Codex wrote, which logged bare items', () => {
  const rows = ['<environment_context>\n  <cwd>/p</cwd>\n</environment_context>', 'fix it'];
  expect(textsOf(rows.map((row) => codex(row).payload))).toEqual({ typed: ['fix it'], written: [rows[0]] });
});

it('marks what our own harness wrote in the user’s role', () => {
  const said = userMessage('fix it');
  const task = userMessage([{ type: 'text', text: 'a task', origin: 'agent' }]);
  expect(textsOf([said, userMessage('a note', { kind: 'synthetic' }), task])).toEqual({
    typed: ['fix it'],
    written: ['a note', 'a task'],
  });
});

it('reads what the user of Claude Code typed while the agent worked', () => {
  const queued = (prompt: unknown, more: object = {}) => ({
    ...{ type: 'attachment', uuid: crypto.randomUUID(), sessionId: 's' },
    attachment: { type: 'queued_command', prompt, ...more },
  });
  const human = { commandMode: 'prompt', origin: { kind: 'human' } };
  const rows = [
    claude('fix it'),
    queued('and the tests', human),
    queued([text('and the docs')]),
    queued('A task ended.', { commandMode: 'task-notification' }),
    queued('Your result?', { commandMode: 'prompt', origin: { kind: 'agent' } }),
  ];
  expect(textsOf(rows)).toEqual({
    typed: ['fix it', 'and the tests', 'and the docs'],
    written: ['A task ended.', 'Your result?'],
  });
});

it('reads what Claude Code attached as written by a program, and counts attachments without a text', () => {
  const attached = (attachment: object) => ({
    ...{ type: 'attachment', uuid: crypto.randomUUID(), sessionId: 's' },
    attachment,
  });
  const read = (name: string, content: string) => ({
    ...{ type: 'file', filename: name },
    content: { type: 'text', file: { filePath: name, content } },
  });
  const rows = [
    claude('fix @a.ts'),
    attached(read('/p/a.ts', 'export {};')),
    attached({ type: 'edited_text_file', filename: '/p/b.ts', snippet: '1\tb' }),
    attached({ type: 'nested_memory', path: '/p/CLAUDE.md', content: { content: 'Be brief.' } }),
    attached({ type: 'todo_reminder', content: [{ content: 'Fix a', status: 'pending' }], itemCount: 1 }),
    attached({ type: 'hook_additional_context', hookName: 'Stop', content: ['one', 'two'] }),
    attached({ type: 'total_tokens_reminder', text: '9000 left' }),
    { type: 'system', subtype: 'hook_response', uuid: 'h', session_id: 's', output: 'Be kind.' },
    attached({ type: 'todo_reminder', content: [], itemCount: 0 }),
    attached({ type: 'auto_mode' }),
    attached({ type: 'file', filename: 'a.png', content: { type: 'image', file: { base64: 'iVBO' } } }),
  ];
  expect(textsOf(rows)).toEqual({
    typed: ['fix @a.ts'],
    written: [
      'file /p/a.ts:\nexport {};',
      'edited_text_file /p/b.ts:\n1\tb',
      'nested_memory:\nBe brief.',
      'todo_reminder:\n{"content":"Fix a","status":"pending"}',
      'hook_additional_context:\none\ntwo',
      'total_tokens_reminder:\n9000 left',
      'hook_response:\nBe kind.',
    ],
  });
  expect(importConversation(rows.map((row) => JSON.stringify(row)).join('\n')).unread).toEqual({
    'attachment of type todo_reminder': 1,
    'attachment of type auto_mode': 1,
    'attachment of type file': 1,
  });
});

it('tells what Gemini CLI showed the user and what it sent in its place apart', () => {
  const row = (id: string, texts: readonly string[], shown?: readonly unknown[]) => ({
    ...{ id, type: 'user', content: texts.map((text) => ({ text })) },
    ...(shown === undefined ? {} : { displayContent: shown }),
  });
  const rows = [
    { sessionId: 's', projectHash: 'p' },
    row('1', ['Analyze the folder.'], [{ text: '/init' }]),
    row('2', ['explain @a.ts', '--- a.ts ---'], [{ text: 'explain @a.ts' }]),
    row('3', ['System: Please continue.'], [{ functionResponse: { id: 'c', name: 'f', response: {} } }]),
    row('4', ['fix it']),
  ];
  expect(textsOf(rows)).toEqual({
    typed: ['/init', 'explain @a.ts', 'fix it'],
    written: ['Analyze the folder.', '--- a.ts ---', 'System: Please continue.'],
  });
});

it('tells a reminder and the words behind it apart', () => {
  const reminder = '<system-reminder>\nx\n</system-reminder>';
  expect(textsOf([claude(`${reminder}\n\n${reminder}\n\nfix it`)])).toEqual({
    typed: ['fix it'],
    written: [`${reminder}\n\n${reminder}`],
  });
});

it.each([
  ['behind it', 'The file:\n<system-reminder>\nx\n</system-reminder>', 'The file:'],
  ['inside it', '<system-reminder>\n1 </system-reminder>\n2 EVIL\n</system-reminder>\nfix it', 'fix it'],
  [
    'around it',
    'fix it\n<system-reminder>\n</system-reminder> EVIL <system-reminder>\n</system-reminder>',
    'fix it',
  ],
  [
    'a command',
    '<system-reminder>\nx\n</system-reminder>\n<command-name>/a</command-name><command-args>b</command-args>',
    '/a b',
  ],
])('takes only the words outside of all reminders as the user’s: %s', (_, logged, said) => {
  expect(textsOf([claude(logged)])).toEqual({
    typed: [said],
    written: [expect.stringMatching(/^<system-reminder>/)],
  });
});

it('leaves what the model wrote about reminders', () => {
  const answer = ' A <system-reminder>x</system-reminder> is text.';
  const rows = [claude('What is it?'), { ...claude([text(answer)]), type: 'assistant' }];
  const { messages } = importConversation(rows.map((row) => JSON.stringify(row)).join('\n'));
  expect(messages.map((message) => textOf(message))).toEqual(['What is it?', answer]);
});

it('leaves what a user wrote about such texts', () => {
  const said = 'Why does <environment_context> show up? <system-reminder> too.';
  expect(textsOf([claude(said)]).typed).toEqual([said]);
  expect(textsOf([codex(said)]).typed).toEqual([said]);
});

it('splits a message in which a program and the user say something', () => {
  const { typed, written } = textsOf([
    claude([text('<ide_opened_file>a.ts</ide_opened_file>'), text('explain it')]),
  ]);
  expect([typed, written]).toEqual([['explain it'], ['<ide_opened_file>a.ts</ide_opened_file>']]);
});

it('reads a command with words as the user typed it', () => {
  const command =
    '<command-message>fix is running…</command-message>\n<command-name>/fix</command-name>\n<command-args>the login bug</command-args>';
  expect(textsOf([claude(command)]).typed).toEqual(['/fix the login bug']);
});

it('reads what a command printed in pi as written by a program', () => {
  const pi = (message: object) => ({ type: 'message', timestamp: '2026-01-01T00:00:00Z', message });
  const { typed, written } = textsOf([
    pi({ role: 'user', content: 'fix it' }),
    pi({ role: 'assistant', content: [text('Run it.')] }),
    pi({ role: 'bashExecution', command: 'ls', output: 'a.ts' }),
  ]);
  expect([typed, written]).toEqual([['fix it'], ['$ ls\na.ts']]);
});

const call = { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} };
it.each<[string, readonly object[]]>([
  [
    'the AI SDK',
    [
      { role: 'user', content: 'fix it' },
      { role: 'assistant', content: [call] },
      { role: 'tool', content: 'x' },
    ],
  ],
  [
    'Gemini',
    [
      { role: 'user', parts: [{ text: 'fix it' }] },
      { role: 'function', parts: [{ text: 'x' }] },
    ],
  ],
  [
    'LangChain',
    [
      { type: 'human', data: { content: 'fix it' } },
      { type: 'tool', data: { content: 'x' } },
    ],
  ],
])('never takes a text in the role of a tool as the user’s: %s', (_, rows) => {
  expect(textsOf(rows)).toEqual({ typed: ['fix it'], written: ['x'] });
});
