import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentState, LocalWorkspace, RuntimeContext, SessionKey, textOf, WorkspaceSessionLog } from '@x/core';
import { describe, expect, it } from 'vitest';
import { type ShellConfig, shell } from '../../src/index.js';
import { scratch } from '../support.js';

/** Killed, whether or not somebody has collected its exit status yet. */
function isDead(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

async function execute(
  command: string,
  options: { config?: ShellConfig; timeoutMs?: number; signal?: AbortSignal; root?: string } = {},
) {
  const root = options.root ?? scratch();
  const workspace = new LocalWorkspace(root);
  const [tool] = shell(options.config).tools ?? [];
  const input = { command, ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }) };
  const output = await tool?.run(input, {
    call: { type: 'tool_use', id: '1', name: 'execute', input },
    runtime: RuntimeContext.empty(),
    state: AgentState.create({ sessionId: 's' }),
    workspace,
    log: new WorkspaceSessionLog(workspace, SessionKey.of('s')),
    signal: options.signal ?? new AbortController().signal,
  });
  return textOf(output ?? []);
}

describe('execute', () => {
  it('answers the exit code and both streams', async () => {
    expect(await execute('echo out; echo err >&2; exit 3')).toBe('exit 3\nout\nerr');
  });

  it('runs in the workspace', async () => {
    expect(await execute('echo hi > f && cat f')).toBe('exit 0\nhi');
  });

  it('passes on no secrets of this process', async () => {
    process.env.X_TEST_SECRET = 'hunter2';
    expect(await execute('echo "[$X_TEST_SECRET]"')).toBe('exit 0\n[]');
    expect(await execute('echo "[$X_TEST_SECRET]"', { config: { passEnvironment: ['X_TEST_SECRET'] } })).toBe(
      'exit 0\n[hunter2]',
    );
    delete process.env.X_TEST_SECRET;
  });

  it('kills a command that takes too long, with all that it started', async () => {
    const text = await execute('sleep 600 & echo $!; wait', { timeoutMs: 200 });
    expect(text).toMatch(/^timed out after 200 ms and was killed\n\d+$/);
    const pid = Number(text.split('\n')[1]);
    expect(isDead(pid)).toBe(true);
  });

  it('kills a command when the call is interrupted', async () => {
    const abort = new AbortController();
    const root = scratch();
    const running = execute('touch begun; sleep 600', { signal: abort.signal, root });
    while (!existsSync(join(root, 'begun'))) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect(await running).toMatch(/^was interrupted and killed/);
  });

  it('keeps the beginning and the end of a long output', async () => {
    const text = await execute('seq 1 100000', { config: { maxOutputChars: 1_000 } });
    expect(text.length).toBeLessThan(1_100);
    expect(text).toMatch(/^exit 0\n1\n2\n/);
    expect(text).toMatch(/characters omitted[\s\S]*100000$/);
  });

  it('refuses unknown configuration by name', () => {
    expect(() => shell({ cmd: 'x' } as never)).toThrow('cmd');
  });
});
