import { spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { LocalWorkspace } from '@x/core/node';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ShellConfig } from '../../src/capabilities/shell.js';
import { bubblewrap, container, type Executor, findSandbox, shell } from '../../src/index.js';
import { scratch } from '../support.js';

function made(...files: readonly string[]): string {
  const cwd = scratch();
  for (const file of files) {
    mkdirSync(join(cwd, dirname(file)), { recursive: true });
    writeFileSync(join(cwd, file), 'canary');
  }
  return cwd;
}

async function execute(command: string, cwd: string, config: ShellConfig): Promise<string> {
  const scope = { workspace: new LocalWorkspace(cwd), signal: new AbortController().signal };
  return JSON.stringify(await shell(config).tools?.[0]?.run({ command }, scope as never));
}

/** An executor that runs nothing, and what it was told to hide. */
function spy() {
  const told: (readonly string[])[] = [];
  const executor: Executor = {
    name: 'spy',
    execution(_, __, { hidden = [] } = {}) {
      told.push(hidden);
      return { file: 'true', args: [] };
    },
  };
  return { told, executor };
}

/** Has a function of Node refuse paths, as the system does a user who is not root. */
function deny<Name extends string>(
  module: Record<Name, unknown>,
  name: Name,
  isDenied: (path: string) => boolean,
): void {
  const real = module[name] as (...args: unknown[]) => unknown;
  module[name] = (path: string, ...rest: unknown[]) => {
    if (!isDenied(path)) return real(path, ...rest);
    const error = Object.assign(new Error('permission denied'), { code: 'EACCES' });
    if (module === (promises as unknown)) return Promise.reject(error);
    throw error;
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    module[name] = real;
    syncBuiltinESMExports();
  });
}

describe('what a sandbox hides', () => {
  it.skipIf(findSandbox() === undefined)(
    'is hidden also from the command after one that would move it, or a folder above it',
    async () => {
      const cwd = made('config/secrets/key', 'a/sub/.x/log', 'node_modules/m.js');
      const sandbox: ShellConfig = { sandbox: 'required', hidden: ['config/secrets'] };
      const moves =
        'mv config c2; mv a node_modules/; mv a/sub node_modules/; mv .x y; cp -r a config node_modules/; rm -rf a config';
      const first = await execute(moves, cwd, sandbox);
      expect(first).toContain('busy');
      expect(await execute('grep -r canary . --include=key --include=log', cwd, sandbox)).toContain(
        '"exit 1"',
      );
      expect(existsSync(join(cwd, 'config/secrets/key')) && existsSync(join(cwd, 'a/sub/.x/log'))).toBe(true);
    },
  );

  it.skipIf(findSandbox() === undefined)(
    'leaves a command free to move what has nothing hidden below it',
    async () => {
      const cwd = made('a/sub/.x/log', 'a/file', 'b/file');
      await execute('mv b c; mv a/file a/sub/moved; mv c/file a/other', cwd, { sandbox: 'required' });
      expect(['c', 'a/sub/moved', 'a/other'].map((path) => existsSync(join(cwd, path)))).toEqual([
        true,
        true,
        true,
      ]);
    },
  );

  it.skipIf(findSandbox() === undefined)(
    'is in the folder that was found, also if another command swaps it for a link before it is mounted',
    async () => {
      const cwd = made('sub/bin/file');
      const kept = { readOnly: [join(cwd, 'sub/bin')] };
      const swap = () => {
        renameSync(join(cwd, 'sub'), join(cwd, 'own'));
        symlinkSync(relative(cwd, '/usr'), join(cwd, 'sub'));
      };
      const swapped = (sandbox: Executor): Executor => ({
        ...sandbox,
        execution(line) {
          const execution = sandbox.execution(line, cwd, kept);
          swap();
          return execution;
        },
      });
      const output = await execute('ls sub/', cwd, { executor: swapped(bubblewrap()) });
      expect(output).toMatch(/exit 1\\nbwrap: Race condition|exit 126\\nA folder was moved or replaced/);
      expect(() => bubblewrap().execution('ls', cwd, kept)).toThrow('A folder was moved or replaced');
    },
  );

  it.skipIf(findSandbox() === undefined)(
    'leaves a command no open folder, also if bubblewrap mounts only paths',
    async () => {
      const root = made('outside', 'cwd/sub/bin/file');
      const cwd = join(root, 'cwd');
      const path = process.env.PATH;
      const lines = [
        ...['#!/bin/sh', `export PATH='${path}'`],
        'if [ "$1" = --help ]; then bwrap --help | grep -v bind-fd; exit; fi',
        'exec bwrap "$@"',
      ];
      const bin = scratch();
      writeFileSync(join(bin, 'bwrap'), lines.join('\n'), { mode: 0o700 });
      vi.stubEnv('PATH', `${bin}:${path}`);
      vi.resetModules();
      onTestFinished(() => {
        vi.unstubAllEnvs();
        vi.resetModules();
      });
      const { bubblewrap } = await import('../../src/capabilities/executors.js');
      const sandbox = bubblewrap();
      const kept = { readOnly: [join(cwd, 'sub/bin')] };
      const executor = { ...sandbox, execution: (line: string) => sandbox.execution(line, cwd, kept) };
      expect(executor.execution('ls').args.join(' ')).toContain(`--bind ${join(cwd, 'sub')} `);
      const output = await execute('for fd in /proc/self/fd/*; do cat $fd/../../outside; done', cwd, {
        executor,
      });
      expect(output).toContain('No such file');
      expect(output).not.toContain('canary');
    },
  );

  it.skipIf(findSandbox() === undefined)(
    'may be a file or a folder that a command cannot read, or a pipe',
    async () => {
      const cwd = made('a \\b\n/closed', 'folder/file');
      const [closed, folder, pipe] = ['a \\b\n/closed', 'folder', 'pipe'].map((path) => join(cwd, path));
      spawnSync('mkfifo', [String(pipe)]);
      chmodSync(String(closed), 0);
      chmodSync(String(folder), 0o300);
      onTestFinished(() => chmodSync(String(folder), 0o700));
      const paths = [closed, join(String(folder), 'file'), pipe].map(String);
      const kept = { readOnly: paths };
      const sandbox = bubblewrap();
      const executor = { ...sandbox, execution: (line: string) => sandbox.execution(line, cwd, kept) };
      const output = await execute('chmod 777 a*/closed folder/file pipe || mv folder own', cwd, {
        executor,
      });
      expect(output.match(/Read-only file system/g)).toHaveLength(paths.length);
      expect(output).toContain('busy');

      const unmounted: Executor = {
        ...sandbox,
        execution(line) {
          const execution = executor.execution(line);
          const at = execution.args.findIndex(
            (option, index) => option.startsWith('--ro-bind') && execution.args[index + 2] === closed,
          );
          return { ...execution, args: execution.args.toSpliced(at, 3) };
        },
      };
      const refused = await execute('echo ran', cwd, { executor: unmounted });
      expect(refused).toContain('exit 126\\nA folder was moved or replaced');
    },
  );

  it.skipIf(findSandbox() === undefined)(
    'is checked in a container, unless it numbers files differently',
    async () => {
      const cwd = made('sub/bin/file');
      const program = join(scratch(), 'docker');
      const run = async (first: string) => {
        const lines = [
          '#!/bin/sh',
          'until [ "$1" = image ]; do [ "$1" != -v ] || binds="$binds --bind ${2%%:*} ${2%%:*}"; shift; done; shift',
          first,
          'exec bwrap --dev-bind / / $binds "$@"',
        ];
        writeFileSync(program, lines.join('\n'));
        chmodSync(program, 0o700);
        const executor = container({ image: 'image', program });
        const kept = { readOnly: [join(cwd, 'sub/bin')] };
        const execution = (line: string) => executor.execution(line, cwd, kept);
        return execute('ls sub/', cwd, { executor: { ...executor, execution } });
      };
      expect(await run('')).toContain('exit 0\\nbin');
      expect(await run('cd /')).toContain('exit 2');
      expect(await run('binds=')).toContain('exit 126\\nA folder was moved or replaced');
      expect(await run(`mv sub own; ln -s ${relative(cwd, '/usr')} sub`)).toContain(
        'exit 126\\nA folder was moved or replaced',
      );
    },
  );

  it('has each folder above it mounted on itself, from above, before what is empty', () => {
    const cwd = made('a/b/secrets/key', 'a/b/secrets/.x/log', 'a/.x/log', '.x/log');
    const hidden = ['a/b/secrets/.x', 'a/b/secrets', 'a/.x', 'gone/secrets'].map((path) => join(cwd, path));
    const [a, b] = [join(cwd, 'a'), join(cwd, 'a/b')];
    const empty = ['.x', 'a/.x', 'a/b/secrets'].map((path) => `--tmpfs ${join(cwd, path)}`);
    const { args } = bubblewrap().execution('ls', cwd, { hidden });
    expect(args.join(' ').replaceAll(/(--bind)-fd \d+ (\S+)/g, '$1 $2 $2')).toContain(
      `--bind ${cwd} ${cwd} --bind ${a} ${a} --bind ${b} ${b} ${empty.map((each) => `${each} ${each.replace('tmpfs', 'remount-ro')}`).join(' ')} --remount-ro /proc`,
    );
    const contained = container({ image: 'node:22' }).execution('ls', cwd, { hidden });
    expect(contained.args.join(' ')).toContain(
      `-v ${cwd}:${cwd} -v ${a}:${a} -v ${b}:${b} ${empty.join(' ')} -w`,
    );
    expect(() =>
      container({ image: 'node:22' }).execution('ls', cwd, { hidden: [join(cwd, 'a/b/x:rw')] }),
    ).not.toThrow();
    mkdirSync(join(cwd, 'x:rw'));
    expect(() =>
      container({ image: 'node:22' }).execution('ls', cwd, { hidden: [join(cwd, 'x:rw')] }),
    ).toThrow('Rename it');
  });

  it('is a folder whole where nobody may look into it', async () => {
    const cwd = made('open/closed/.x/log', 'listed/.x/log', 'listed/sub/file', 'config/secrets/key');
    deny(promises as never, 'readdir', (path) => path === join(cwd, 'open/closed'));
    deny(promises as never, 'stat', (path) => path.startsWith(join(cwd, 'listed/')));
    const { told, executor } = spy();
    await execute('true', cwd, { executor });
    expect(told[0]).toEqual(expect.arrayContaining([join(cwd, 'open/closed'), join(cwd, 'listed')]));
    deny(fs as never, 'lstatSync', (path) => path.startsWith(join(cwd, 'config/')));
    const { args } = bubblewrap().execution('ls', cwd, { hidden: [join(cwd, 'config/secrets')] });
    expect(args.join(' ')).toContain(`--tmpfs ${join(cwd, 'config')} `);
  });

  it('keeps a command from a directory that cannot be read, from links, and from too many folders', async () => {
    const cwd = made('real/secrets/key', 'file');
    symlinkSync('real', join(cwd, 'link'));
    const sandbox = bubblewrap();
    const at = (path: string) => () => sandbox.execution('ls', cwd, { hidden: [join(cwd, path)] });
    expect(at('link/secrets')).toThrow('link cannot be hidden, because it is a symbolic link');
    const many = Array.from({ length: 251 }, (_, index) => join(cwd, `n${index}/.x`));
    for (const place of many) mkdirSync(place, { recursive: true });
    expect(() => sandbox.execution('ls', cwd, { hidden: many })).toThrow('502 mounts, more than 500');
    deny(promises as never, 'readdir', (path) => path === cwd);
    await expect(execute('ls', cwd, { executor: sandbox })).rejects.toThrow('this process cannot read it');
  });

  it('is found from a directory that is named by a link', async () => {
    const cwd = made('secrets/key');
    const link = join(scratch(), 'link');
    symlinkSync(cwd, link);
    const { told, executor } = spy();
    await execute('true', link, { executor, cwd: link, hidden: [join(cwd, 'secrets')] });
    expect(told[0]).toContain(join(link, 'secrets'));
  });

  it('is named by paths, of which wildcards would name none', () => {
    expect(() => shell({ hidden: ['secrets', '*.pem'] })).toThrow('hidden[1]');
  });

  it('is the storage of the agent also before anything is in it, so that no command makes one', async () => {
    const cwd = made('file');
    const { told, executor } = spy();
    await execute('true', cwd, { executor });
    expect(told[0]).toContain(join(cwd, '.x'));
    expect(statSync(join(cwd, '.x')).mode & 0o777).toBe(0o700);
  });
});
