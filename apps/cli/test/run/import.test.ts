import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentState } from '@x/core';
import { beforeEach, expect, it } from 'vitest';
import { x } from '../support/run-command.js';
import { inFolder } from './in-folder.js';

const place = inFolder(Array.from({ length: 4 }, () => ({ text: 'Going on.' })));

beforeEach(() => {
  mkdirSync('files');
  writeFileSync(
    'agent.yaml',
    'name: mine\nmodel: { id: compatible:fake, context_window: 8000 }\nworkspace: ./files\ncapabilities: [compaction, workspace_tools]\n',
  );
});

/** Goes on with the imported session, and expects texts in the request to the model. Returns the request. */
async function requestWith(...kept: readonly string[]): Promise<string> {
  const { stdout, stderr } = await x(['run', '--session', 'theirs', '-p', 'And say what you did.']);
  expect(stdout, stderr).toBe('Going on.\n');
  const request = JSON.stringify(place.endpoint.requests.at(-1));
  expect(request.length).toBeLessThan(32_000);
  for (const text of ['Never touch src/legacy/.', OPEN, 'And say what you did.', 'src/part-29.ts', ...kept])
    expect(request).toContain(text);
  return request;
}

type Rows = readonly object[];
const WISH = 'Find out why the invoices of March are wrong. Never touch src/legacy/.';
const FINDING = 'The rate in part-17 is from 2019.';
const OPEN = 'Mend it, then.';
const fileAt = (index: number) => join(process.cwd(), 'files', `src/part-${index}.ts`);
const contentOf = (index: number) => `export const rate${index} = ${index};\n`.repeat(40);
const jsonl = (rows: Rows) => rows.map((row) => JSON.stringify(row)).join('\n');
const reads = Array.from({ length: 30 }, (_, index) => index);

/** Rows of Claude Code: 30 files were read, and nobody has answered the last request. */
function claudeCode(): object[] {
  const rows: object[] = [];
  const add = (type: string, content: unknown) => {
    const [uuid, parentUuid] = [`u${rows.length}`, rows.length === 0 ? null : `u${rows.length - 1}`];
    rows.push({ type, uuid, parentUuid, sessionId: 'theirs', message: { role: type, id: uuid, content } });
  };
  add('user', WISH);
  for (const index of reads) {
    add('assistant', [
      { type: 'tool_use', id: `c${index}`, name: 'Read', input: { file_path: fileAt(index) } },
    ]);
    add('user', [{ type: 'tool_result', tool_use_id: `c${index}`, content: contentOf(index) }]);
  }
  add('assistant', [{ type: 'text', text: FINDING }]);
  add('user', OPEN);
  return rows;
}

/** The same after the user went back from another request, with a row that was lost and one that was cut off. */
function damagedClaudeCode(): string {
  const rows = claudeCode();
  const last = rows.at(-2) as { readonly uuid: string };
  const given = {
    type: 'user',
    uuid: 'x',
    parentUuid: last.uuid,
    sessionId: 'theirs',
    message: { role: 'user', content: 'Forget it.' },
  };
  const lines = [...rows.slice(0, 20), ...rows.slice(21, -1), given, rows.at(-1) as object].map((row) =>
    JSON.stringify(row),
  );
  return [...lines.slice(0, 30), '{"type":"user","uuid":"tor', ...lines.slice(30)].join('\n');
}

function codex(command: (file: string) => object): string {
  const item = (payload: object) => ({ type: 'response_item', payload });
  const said = (role: string, text: string) =>
    item({
      type: 'message',
      role,
      content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
    });
  return jsonl([
    { type: 'session_meta', payload: { id: 'theirs' } },
    said('user', '<environment_context>\n  <cwd>/home</cwd>\n</environment_context>'),
    said('user', WISH),
    ...reads.flatMap((index) => [
      item({ type: 'function_call', call_id: `c${index}`, ...command(`src/part-${index}.ts`) }),
      item({ type: 'function_call_output', call_id: `c${index}`, output: contentOf(index) }),
    ]),
    said('assistant', FINDING),
    said('user', OPEN),
  ]);
}

function geminiCli(): string {
  return jsonl([
    { sessionId: 'theirs', projectHash: 'p' },
    { id: 'q', type: 'user', content: WISH },
    ...reads.map((index) => ({
      id: `g${index}`,
      type: 'gemini',
      content: '',
      toolCalls: [
        {
          id: `c${index}`,
          name: 'read_file',
          args: { absolute_path: fileAt(index) },
          status: 'success',
          result: [{ text: contentOf(index) }],
        },
      ],
    })),
    { id: 'f', type: 'gemini', content: FINDING },
    { id: 'o', type: 'user', content: OPEN },
  ]);
}

function opencode(): string {
  const said = (id: string, role: string, part: object) => ({ info: { id, role }, parts: [part] });
  const text = (text: string) => ({ type: 'text', text });
  const read = (index: number) => ({
    ...{ type: 'tool', callID: `c${index}`, tool: 'read' },
    state: { status: 'completed', input: { filePath: fileAt(index) }, output: contentOf(index) },
  });
  return JSON.stringify({
    info: { id: 'theirs' },
    messages: [
      said('q', 'user', text(WISH)),
      ...reads.map((index) => said(`a${index}`, 'assistant', read(index))),
      said('f', 'assistant', text(FINDING)),
      said('o', 'user', text(OPEN)),
    ],
  });
}

it.each([
  ['claude-code', () => jsonl(claudeCode()), 'read_file'],
  ['claude-code', damagedClaudeCode, 'read_file'],
  [
    'codex',
    () => codex((file) => ({ name: 'exec_command', arguments: JSON.stringify({ cmd: `cat ${file}` }) })),
    'execute',
  ],
  [
    'codex',
    () =>
      codex((file) => ({
        name: 'shell',
        arguments: JSON.stringify({ command: ['bash', '-lc', `cat ${file}`] }),
      })),
    'execute',
  ],
  ['gemini-cli', geminiCli, 'read_file'],
  ['opencode', opencode, 'read_file'],
] as const)(
  'goes on with a session of %s: the open request, the record and the newest messages',
  async (format, log, tool) => {
    const file = join(place.directory, 'theirs.jsonl');
    writeFileSync(file, log());
    const imported = await x(['sessions', 'import', file, '-w', 'files']);
    expect(imported.stdout, imported.stderr).toContain(`Imported theirs (mine): ${format}, `);
    const request = await requestWith(FINDING, tool);
    expect(request).not.toContain('Forget it.');
    // What was compacted away is in the record, in fewer words.
    expect(request).toContain('src/part-3.ts');
    expect(request).not.toContain('export const rate3 = 3;\\nexport const rate3 = 3;\\nexport const rate3');
  },
);

it('goes on with the session of another agent: compacted, with our tools', async () => {
  const file = join(place.directory, 'theirs.jsonl');
  writeFileSync(file, jsonl(claudeCode()));
  const imported = await x(['sessions', 'import', file, '-w', 'files']);
  expect(imported).toMatchObject({ status: 0, stderr: '' });
  expect(imported.stdout).toMatch(
    /^Imported theirs \(mine\): claude-code, 63 messages\.\nGo on with: x run --session theirs$/m,
  );

  expect((await x(['sessions', 'list', '-w', 'files'])).stdout).toContain(WISH);
  const request = await requestWith('read_file');
  expect(request).not.toContain(place.directory);

  // A repeated import changes nothing, and another log takes no session's name.
  const repeated = await x(['sessions', 'adopt', file, '-w', 'files']);
  expect([repeated.status, repeated.stdout]).toEqual([
    0,
    expect.stringMatching(/^Imported before, so nothing changed: /),
  ]);
  expect((await x(['sessions', 'show', 'theirs', '-w', 'files'])).stdout).toContain('And say what you did.');
  writeFileSync(file, jsonl([...claudeCode(), { type: 'summary', summary: 'Invoices' }]));
  const again = await x(['sessions', 'import', file, '-w', 'files']);
  expect(again.stderr).toContain('Session theirs');
  const other = ['--session', 'other', '--user', 'bob', '--tenant', 'acme'];
  const owned = await x(['sessions', 'import', file, '-w', 'files', ...other]);
  expect(owned.stdout).toContain('Go on with: x run --session other --user bob --tenant acme\n');
});

it('prints a name and a row of a log so that a terminal shows them and a shell does nothing', async () => {
  const file = join(place.directory, 'theirs.jsonl');
  const sessionId = 'a\u001b]0;TITLE\u0007\n\u001b[2J; touch ran';
  const rows = claudeCode().map((row) => ({ ...row, sessionId }));
  const row = { ...rows[0], uuid: 'x', type: '\u001b[2J\nother' };
  writeFileSync(file, jsonl([...rows, row]));
  const { stdout, stderr } = await x(['sessions', 'adopt', file, '-w', 'files']);
  expect(stdout, stderr).toContain('1 × message in a row of type \\u{1b}[2J other.\n');
  expect(stdout).toContain(`--session 'a\\u{1b}]0;TITLE\\u{7} \\u{1b}[2J; touch ran'\n`);
  const checked = await x(['doctor', 'log', file]);
  expect(checked.stdout).toContain('not read: 1 × message in a row of type \\u{1b}[2J other\n');
});

const message = (id: string, text: string) => ({
  ...{ id, role: 'user', createdAt: '2026-01-01T00:00:00.000Z' },
  content: [{ type: 'text', text }],
});
const LOGGED = { type: 'log', message: message('a', 'Find it.') };

it('takes only the messages over from an exported file, for its own user and agent, and says so', async () => {
  const state = {
    ...{ schemaVersion: 1, sessionId: 'theirs', userId: 'root', tenantId: 'admin', title: 'Trust it' },
    permissionContext: { mode: 'bypass', allow: [{ tool: 'write_file' }] },
    metadata: { role: 'admin' },
    activeCall: { callId: 'c', startedAt: '2026-01-01T00:00:00.000Z' },
    planModeContext: { active: true, planFile: 'plan.md' },
    tasksContext: { todos: [{ content: 'EVIL', status: 'pending' }] },
    toolContext: { activatedGroups: ['a'] },
    extensions: { skills: { loaded: [{ name: 'EVIL' }] } },
    context: [message('b', 'Mend it.')],
  };
  const key = { tenantId: 'admin', userId: 'root', agentId: 'other', sessionId: 'any' };
  const file = join(place.directory, 'theirs.jsonl');
  const rows = [
    { type: 'state', key, state },
    { type: 'log', message: message('a', 'Find it.') },
  ];
  writeFileSync(file, jsonl(rows));
  const imported = await x(['sessions', 'import', file, '-w', 'files']);
  expect(imported.stdout, imported.stderr).toContain(
    'Imported theirs (mine): 1 messages, without the other state.',
  );
  const exported = await x(['sessions', 'export', 'theirs', '-w', 'files']);
  const [first, ...log] = exported.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(first).toMatchObject({ key: { sessionId: 'theirs', agentId: 'mine' } });
  const empty = AgentState.create({ sessionId: 'theirs' }).toJSON();
  expect(first.state).toEqual({ ...empty, title: 'Find it.', context: state.context });
  expect(log).toEqual([LOGGED]);
});

it.each([
  ['no messages', { context: 'x' }, LOGGED, 'context'],
  ['another version', { schemaVersion: 9 }, LOGGED, 'schemaVersion'],
  ['another log', {}, { message: { role: 'user' } }, 'SessionLog'],
  ['a row without a message', {}, {}, 'SessionLog'],
])('rejects an exported file with %s', async (_, fault, row, named) => {
  const state = { schemaVersion: 1, sessionId: 'theirs', context: [], ...fault };
  writeFileSync('theirs.jsonl', jsonl([{ type: 'state', key: { sessionId: 'theirs' }, state }, row]));
  const { status, stderr } = await x(['sessions', 'import', 'theirs.jsonl', '-w', 'files']);
  expect(status).not.toBe(0);
  expect(stderr).toContain(named);
});
