import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentState, RuntimeContext, SessionKey, textOf, toolResultsOf } from '@x/core';
import { endIn } from '@x/core/internal';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ShellConfig } from '../../src/capabilities/shell.js';
import { HarnessAgent, shell } from '../../src/index.js';
import { isDead, scratch } from '../support.js';
import { until } from './subagents/support.js';

async function outputOf(
  command: string,
  options: { config?: ShellConfig; timeoutMs?: number; signal?: AbortSignal; root?: string } = {},
) {
  const root = options.root ?? scratch();
  const workspace = new LocalWorkspace(root);
  const [tool] = shell(options.config).tools ?? [];
  const input = { command, ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }) };
  const output = await tool?.run(input, {
    call: { type: 'tool_use', id: '1', name: 'execute', input },
    idempotencyKey: 'key',
    runtime: RuntimeContext.empty(),
    state: AgentState.create({ sessionId: 's' }),
    workspace,
    storage: workspace,
    log: new WorkspaceSessionLog(workspace, SessionKey.of('s')),
    signal: options.signal ?? new AbortController().signal,
  });
  return output ?? [];
}

async function execute(...given: Parameters<typeof outputOf>): Promise<string> {
  return textOf(await outputOf(...given));
}

describe('execute', () => {
  it('answers the exit code and both streams', async () => {
    expect(await execute('echo out; echo err >&2; exit 3')).toBe('exit 3\nout\nerr');
  });

  it.each([
    ['echo Exit code: 1', { failed: false, exitCode: 0 }],
    ['sleep 600 & echo $!; exit 4', { failed: true, exitCode: 4 }],
    ['kill -9 $$', { failed: true }],
  ])('notes how the command ended, apart from its text: %s', async (command, end) => {
    const [block] = await outputOf(command);
    expect(endIn(block?.providerMetadata)).toEqual(end);
    const left = /\n(\d+)$/.exec(textOf(block ? [block] : []))?.[1];
    if (left !== undefined) process.kill(Number(left), 'SIGKILL');
  });

  it('runs in the workspace', async () => {
    expect(await execute('echo hi > f && cat f')).toBe('exit 0\nhi');
  });

  it('runs in the workspace of a user who has no files yet', async () => {
    const root = join(scratch(), 'users/alice');
    expect(await execute('echo hi > f && cat f', { root })).toBe('exit 0\nhi');
    expect(statSync(root).mode & 0o777).toBe(0o700);
  });

  it('passes on no secrets of this process', async () => {
    vi.stubEnv('X_TEST_SECRET', 'hunter2');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await execute('echo "[$X_TEST_SECRET]"')).toBe('exit 0\n[]');
    expect(await execute('echo "[$X_TEST_SECRET]"', { config: { passEnvironment: ['X_TEST_SECRET'] } })).toBe(
      'exit 0\n[hunter2]',
    );
  });

  it('has Git run no program that files name in a folder laid out as a repository', async () => {
    const root = scratch();
    const repository = join(root, 'sub');
    for (const folder of ['objects', 'refs']) mkdirSync(join(repository, folder), { recursive: true });
    writeFileSync(join(repository, 'HEAD'), 'ref: refs/heads/main\n');
    const config =
      '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = "touch ran; true"\n';
    writeFileSync(join(repository, 'config'), config);
    expect(await execute('git -C sub status; cd sub; git status', { root })).toMatch(
      /bareRepository.*bareRepository/s,
    );
    expect(existsSync(join(repository, 'ran'))).toBe(false);
    expect(await execute('git init -q kept && git -C kept status', { root })).toContain('exit 0');
  });

  it('kills a command that takes too long', async () => {
    expect(await execute('sleep 600', { timeoutMs: 200 })).toBe('timed out after 200 ms and was killed');
  });

  it.each([
    ['ends and leaves a server behind', 'sleep 600 & echo $!', 'exit 0', 600_000],
    [
      'is killed and leaves a daemon behind',
      'setsid sleep 600 & echo $!; wait',
      'timed out after 500 ms and was killed',
      500,
    ],
  ])('answers for a command that %s', async (_, command, status, timeoutMs) => {
    const [line = '', pid] = (await execute(command, { timeoutMs })).split('\n');
    expect(line).toBe(
      `${status} (a process that it started still runs in the background; redirect its output to a file to read it)`,
    );
    process.kill(Number(pid), 'SIGKILL');
  });

  it('kills a command when the call is interrupted, with all that it started', async () => {
    const abort = new AbortController();
    const root = scratch();
    const running = execute('sleep 600 & echo $!; touch begun; wait', { signal: abort.signal, root });
    await until(() => existsSync(join(root, 'begun')));
    abort.abort();
    const text = await running;
    expect(text).toMatch(/^stopped by the user after \d+ s\n\d+$/);
    const pid = Number(text.split('\n')[1]);
    // Its end closes the output a moment before the kernel counts it among the dead.
    await until(() => isDead(pid));
  });

  it('leaves the model what a command printed before the user stopped it', async () => {
    const root = scratch();
    const context = RuntimeContext.of({ sessionId: 's' });
    const input = { command: 'echo so far; touch begun; sleep 600' };
    const model = new ScriptedModel([{ toolCalls: [{ name: 'execute', input }] }]);
    const agent = HarnessAgent.builder().model(model).workspace(root).use(shell()).build();
    const call = agent.call('Hi', context);
    await until(() => existsSync(join(root, 'begun')));
    agent.interrupt(context);
    expect(await call).toMatchObject({ stopReason: 'interrupted' });
    const [result] = (await agent.state(context))?.context.flatMap(toolResultsOf) ?? [];
    expect(textOf(result?.output ?? [])).toMatch(/^stopped by the user after \d+ s\nso far$/);
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
