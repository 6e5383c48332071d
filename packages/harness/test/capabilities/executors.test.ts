import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { RuntimeContext } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ShellConfig } from '../../src/capabilities/shell.js';
import { bubblewrap, container, type Executor, findSandbox, HarnessAgent, shell } from '../../src/index.js';
import { resultsIn } from '../loop/approvals/support.js';
import { collect, scratch } from '../support.js';

async function run(command: string, cwd: string, config: ShellConfig) {
  const model = new ScriptedModel([
    { toolCalls: [{ id: 'c', name: 'execute', input: { command } }] },
    { text: 'Done.' },
  ]);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(cwd)
    .use(shell({ cwd, ...config }))
    .build();
  const events = await collect(agent.stream('Go', RuntimeContext.of({ sessionId: 's' })));
  await agent.close();
  return { result: resultsIn(model).c ?? '', warnings: events.filter(({ type }) => type === 'warning') };
}

describe('bubblewrap', () => {
  it('shows a command the system, its directory, and nothing else', () => {
    const { file, args } = bubblewrap({ read: ['/data'] }).execution('ls', '/work');
    expect(file).toBe('bwrap');
    const text = args.join(' ');
    for (const part of [
      '--unshare-all',
      '--cap-drop ALL',
      '--die-with-parent',
      '--bind /work /work',
      '--chdir /work',
      '--proc /proc',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toContain('--ro-bind-try /data /data');
    expect(text).not.toMatch(
      /--share-net|resolv\.conf|--(ro-)?bind \/ |\/root|\/home|bind(-try)? \/etc\/passwd/,
    );
    expect(args.at(-1)).toBe('ls');
    expect(bubblewrap({ network: 'host' }).execution('ls', '/work').args).toContain('--share-net');
  });

  it('keeps files, environment and processes from a command, or the machine says that it has none', async () => {
    const outside = join(scratch(), 'outside');
    const cwd = scratch();
    mkdirSync(join(cwd, '.x'));
    writeFileSync(join(cwd, '.x/log'), 'canary-storage');
    writeFileSync(outside, 'canary-outside');
    process.env.X_CANARY = 'canary-environment';
    const script = [
      `cat ${outside}; echo x > ${outside}; ls -d /root /home`,
      'cat /proc/*/environ | tr "\\0" "\\n"; env',
      'umount .x; cat .x/log; echo inside > made',
    ].join('; ');
    const { result, warnings } = await run(script, cwd, { sandbox: 'auto' });
    delete process.env.X_CANARY;
    expect(existsSync(join(cwd, 'made'))).toBe(true);
    if (findSandbox() === undefined) return;
    expect(warnings).toEqual([]);
    expect(result).not.toContain('canary');
    expect(readFileSync(outside, 'utf8')).toBe('canary-outside');
  });
});

describe('commands without a sandbox', () => {
  let agents = 0;
  const warningsOf = async (config: ShellConfig, isolation: 'user' | 'shared') => {
    const warnings: (Error & { readonly code?: string })[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on('warning', listen);
    const name = `agent${agents++}`;
    for (const model of [new ScriptedModel([]), new ScriptedModel([])]) {
      const builder = HarnessAgent.builder().name(name).model(model).workspace(scratch());
      builder.use(shell(config)).isolation(isolation).build();
    }
    await new Promise(setImmediate);
    process.off('warning', listen);
    return warnings.filter(({ code }) => code === 'shell_not_isolated').map(({ message }) => message);
  };

  it('are warned of at build, once, where users have files of their own', async () => {
    const warning = expect.stringContaining('a command of one user can read and change the files of all');
    expect(await warningsOf({}, 'user')).toEqual([warning]);
    expect(await warningsOf({ sandbox: 'none' }, 'shared')).toEqual([]);
    expect(await warningsOf({ executor: bubblewrap() }, 'user')).toEqual([]);
    vi.stubEnv('PATH', '');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await warningsOf({ sandbox: 'auto' }, 'user')).toEqual([warning]);
  });

  it('are told of in the first call where files are shared and the machine has no sandbox', async () => {
    vi.stubEnv('PATH', '');
    onTestFinished(() => void vi.unstubAllEnvs());
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'a' }, { text: 'b' }]))
      .workspace(scratch())
      .use(shell({ sandbox: 'auto' }))
      .isolation('shared')
      .build();
    const told = [];
    for (const text of ['Go', 'On']) {
      const events = await collect(agent.stream(text, RuntimeContext.of({ sessionId: 's' })));
      told.push(...events.filter(({ type }) => type === 'warning'));
    }
    expect(told).toMatchObject([
      { source: 'shell', message: expect.stringContaining('machine has no sandbox') },
    ]);
  });
});

describe('an executor', () => {
  it('of a sandbox hides what the harness keeps in the directory', () => {
    const cwd = scratch();
    const places = [bubblewrap(), container({ image: 'node:22' })];
    for (const place of places) expect(place.execution('ls', cwd).args).not.toContain(join(cwd, '.x'));
    mkdirSync(join(cwd, '.x'));
    for (const place of places) {
      const { args } = place.execution('ls', cwd);
      expect(args[args.indexOf(join(cwd, '.x')) - 1]).toBe('--tmpfs');
    }
  });

  it('is told of every storage further down, also of other workspaces, and of what the program hides', async () => {
    const cwd = scratch();
    const root = join(cwd, 'data');
    const told: (readonly string[] | undefined)[] = [];
    const executor: Executor = {
      name: 'own',
      execution(_, __, kept) {
        told.push(kept?.hidden);
        return { file: 'true', args: [] };
      },
    };
    for (const path of ['other/deep/.x/users', 'other/.X', 'plain.x', 'node_modules/a/.x']) {
      mkdirSync(join(cwd, path), { recursive: true });
    }
    await run('ls', root, { executor, cwd, hidden: ['secrets', '/elsewhere'] });
    const others = [join(cwd, 'other/.X'), join(cwd, 'other/deep/.x')];
    const own = [join(root, '.x'), join(root, '.locks')];
    expect([...new Set(told[0])].sort()).toEqual([...own, join(cwd, 'secrets'), ...others].sort());
    for (const place of [bubblewrap(), container({ image: 'node:22' })]) {
      mkdirSync(join(cwd, 'secrets'), { recursive: true });
      expect(place.execution('ls', cwd, { hidden: [join(cwd, 'secrets')] }).args).toContain(
        join(cwd, 'secrets'),
      );
    }
  });

  it('is not reached from a working directory within a storage, by a link either', async () => {
    const root = scratch();
    mkdirSync(join(root, '.x/files/users'), { recursive: true });
    symlinkSync(join(root, '.x/files'), join(root, 'link'));
    for (const cwd of ['.x', '.x/files/users', 'link']) {
      const { result } = await run('ls', root, { cwd: join(root, cwd) });
      expect(result, cwd).toContain('is in a directory .x');
    }
  });

  it('of a container runs the line there, and stops the container with the command', () => {
    const { file, args, stop } = container({ image: 'node:22' }).execution('ls', '/work');
    expect([file, ...args].join(' ')).toMatch(
      /^docker run --rm --init --name (x-\w+) --network none --memory 4294967296 --pids-limit 512 --ulimit fsize=1073741824 --tmpfs \/tmp:\S+ (?:-e GIT_\S+ ){3}-v \/work:\/work -w \/work node:22 sh -c ls$/,
    );
    expect(stop?.args).toEqual(['kill', args[args.indexOf('--name') + 1]]);
  });

  it('of one\u2019s own decides what is run, and is stopped as it says', async () => {
    const cwd = scratch();
    const own: Executor = {
      name: 'own',
      execution: (line, place) => ({
        file: 'sh',
        args: ['-c', `echo "own: ${line} in ${place}"; sleep 60`],
        stop: { file: 'touch', args: [join(cwd, 'stopped')] },
      }),
    };
    const { result } = await run('ls', cwd, { executor: own, timeoutMs: 200 });
    expect(result).toContain(`own: ls in ${cwd}`);
    while (!existsSync(join(cwd, 'stopped'))) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('is refused when it is none, and a required sandbox when there is none', () => {
    expect(() => shell({ executor: {} as Executor })).toThrow('executor');
    const path = process.env.PATH;
    process.env.PATH = scratch();
    try {
      expect(() => shell({ sandbox: 'required' })).toThrow('this machine has no sandbox');
    } finally {
      process.env.PATH = path;
    }
  });
});

describe('what other agents keep below the directory', () => {
  it('is hidden from the next command also where it was made since, and the folder hides its change', async () => {
    const cwd = scratch();
    for (const folder of ['a/b', 'c', 'moved/d']) mkdirSync(join(cwd, folder), { recursive: true });
    const told: (readonly string[])[] = [];
    const executor: Executor = {
      name: 'spy',
      execution(_, __, { hidden = [] } = {}) {
        const own = [join(cwd, '.x'), join(cwd, '.locks')];
        told.push(hidden.filter((place) => !own.includes(place)).sort());
        return { file: 'true', args: [] };
      },
    };
    // Folders are old enough to be remembered.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const execute = shell({ executor, cwd }).tools?.[0];
    const next = async () => {
      const scope = { workspace: new LocalWorkspace(cwd), signal: new AbortController().signal };
      await execute?.run({ command: 'true' }, scope as never);
      return told.at(-1);
    };
    expect(await next()).toEqual([]);
    const before = statSync(join(cwd, 'a/b'));
    mkdirSync(join(cwd, 'a/b/.x'));
    utimesSync(join(cwd, 'a/b'), before.atime, before.mtime);
    expect(await next()).toEqual([join(cwd, 'a/b/.x')]);
    mkdirSync(join(cwd, 'other/d/.X'), { recursive: true });
    rmSync(join(cwd, 'moved'), { recursive: true });
    renameSync(join(cwd, 'other'), join(cwd, 'moved'));
    expect(await next()).toEqual([join(cwd, 'a/b/.x'), join(cwd, 'moved/d/.X')]);
    rmSync(join(cwd, 'a'), { recursive: true });
    expect(await next()).toEqual([join(cwd, 'moved/d/.X')]);
  });

  it('keeps a command from running where a folder could not be read, and forgets nothing of it', async () => {
    const cwd = scratch();
    mkdirSync(join(cwd, 'a/.x'), { recursive: true });
    const told: (readonly string[])[] = [];
    const executor: Executor = {
      name: 'spy',
      execution(_, __, { hidden = [] } = {}) {
        told.push(hidden);
        return { file: 'true', args: [] };
      },
    };
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const execute = shell({ executor, cwd }).tools?.[0];
    const scope = { workspace: new LocalWorkspace(cwd), signal: new AbortController().signal };
    const { readdir } = fs;
    const failed = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    fs.readdir = (() => Promise.reject(failed)) as unknown as typeof readdir;
    syncBuiltinESMExports();
    try {
      await expect(Promise.resolve(execute?.run({ command: 'true' }, scope as never))).rejects.toBe(failed);
    } finally {
      fs.readdir = readdir;
      syncBuiltinESMExports();
    }
    expect(told).toEqual([]);
    await execute?.run({ command: 'true' }, scope as never);
    expect(told[0]).toContain(join(cwd, 'a/.x'));
  });

  it('is not looked for once the call is given up', async () => {
    const cwd = scratch();
    const executor: Executor = {
      name: 'spy',
      execution: () => expect.unreachable('no command begins'),
    };
    const scope = { workspace: new LocalWorkspace(cwd), signal: AbortSignal.abort(new Error('given up')) };
    const result = shell({ executor, cwd }).tools?.[0]?.run({ command: 'true' }, scope as never);
    await expect(Promise.resolve(result)).rejects.toThrow('given up');
  });
});
