import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  assistantMessage,
  LocalWorkspace,
  openSession,
  SessionKey,
  userMessage,
  WorkspaceSession,
  WorkspaceSessionLog,
} from '@x/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'x-cli-'));
  const workspace = new LocalWorkspace(directory);
  for (const [userId, sessionId] of [
    ['alice', 's-1'],
    ['bob', 's-2'],
  ] as const) {
    const key = SessionKey.of({ userId, agentId: 'coder', sessionId });
    const session = await openSession(new WorkspaceSession(workspace), key);
    session.state
      .contextMutable()
      .push(
        userMessage(`Hello from ${userId}`),
        assistantMessage([{ type: 'tool_use', id: '1', name: 'read_file', input: { path: 'a.ts' } }]),
      );
    await new WorkspaceSessionLog(workspace, key).append(session.state.context);
    await session.commit();
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function x(args: readonly string[], input = '') {
  const node = ['--conditions=@x/source', '--import', 'tsx', main, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, node, { input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('x', () => {
  it('lists sessions, also by owner', () => {
    const all = x(['sessions', '-w', directory]).stdout.trim().split('\n');
    expect(all).toHaveLength(2);
    const json = x(['sessions', '-w', directory, '--user', 'alice', '--json']).stdout;
    expect(JSON.parse(json)).toMatchObject({
      userId: 'alice',
      agentId: 'coder',
      sessionId: 's-1',
      version: 1,
    });
  });

  it('shows a log, whole or its end', () => {
    const owner = ['-w', directory, '-u', 'alice', '-a', 'coder'];
    const { stdout } = x(['show', 's-1', ...owner]);
    expect(stdout).toContain('Hello from alice');
    expect(stdout).toContain('→ read_file {"path":"a.ts"}');
    expect(x(['show', 's-1', ...owner, '--last', '1']).stdout).not.toContain('Hello');
  });

  it('counts tokens of files and of standard input', () => {
    const file = join(directory, 'text.txt');
    writeFileSync(file, 'hello world');
    expect(x(['count', file]).stdout).toMatch(/^2\t~\d+\t/);
    expect(x(['count'], 'hello world').stdout).toMatch(/^2\t~\d+\t-\n$/);
  });

  it('says what is wrong, and exits with 2', () => {
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['frob'], 'There is no command "frob"'],
      [['sessions', '--frob'], 'Usage: x sessions'],
      [['sessions', '-w', join(directory, 'none')], 'There is no workspace'],
      [['show', 'nobody', '-w', directory], 'There is no log of session "nobody"'],
      [['show', 's-1', '--last', 'x'], '--last must be a whole number'],
      [['count', '--encoding', 'x'], '--encoding must be one of'],
    ];
    for (const [args, message] of cases) {
      const { status, stderr } = x(args);
      expect({ args, status }).toEqual({ args, status: 2 });
      expect(stderr).toContain(message);
      expect(stderr).not.toContain('    at ');
    }
  });
});
