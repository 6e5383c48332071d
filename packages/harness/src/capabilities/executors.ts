import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { masksOf } from './masks.js';

/** A program to start in place of a command line, and one that stops what killing it leaves behind. */
export interface Execution {
  readonly file: string;
  readonly args: readonly string[];
  readonly stop?: { readonly file: string; readonly args: readonly string[] } | undefined;
}

/** A place in which `execute` runs commands. */
export interface Executor {
  readonly name: string;
  /**
   * Says how to run a line for `sh -c` in `cwd`. The environment of the program is the command's own.
   *
   * @param hidden Directories below `cwd` that the command must not see. They may not exist. Nor may it rename a directory above
   * one of them, or the next command is told of another path.
   */
  execution(line: string, cwd: string, hidden?: readonly string[]): Execution;
}

/**
 * Keeps Git from taking a folder for a repository that is laid out as one without a `.git`, unless `--git-dir` names it: files of the
 * workspace would say what programs `git status` starts. Git knows it from 2.38 on.
 */
export const GIT_ENVIRONMENT = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.bareRepository',
  GIT_CONFIG_VALUE_0: 'explicit',
};

/** Runs commands as the user of this process: they can do what it can, and read its environment. */
export const localExecutor: Executor = {
  name: 'local',
  execution: (line) => ({ file: 'sh', args: ['-c', line] }),
};

/** What programs need of a Linux system. Nothing else of it is there, home directories and `/run` least of all. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64'];

const ETC =
  'alternatives ca-certificates group ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf passwd ssl'.split(
    ' ',
  );

const ETC_NETWORK = ['hosts', 'resolv.conf'];

/**
 * Runs each command in a sandbox of its own by bubblewrap (`bwrap`, Linux): it sees the working directory, which it may
 * change, the programs of the system, and nothing else; no other process, and no environment but its own. What it starts ends
 * with it.
 *
 * @param options.network Whether it reaches the network. Default true.
 * @param options.read Further paths that it may read.
 */
export function bubblewrap(
  options: { readonly network?: boolean; readonly read?: readonly string[] } = {},
): Executor {
  const { network = true, read = [] } = options;
  const etc = [...ETC, ...(network ? ETC_NETWORK : [])].map((name) => `/etc/${name}`);
  const node = dirname(dirname(process.execPath));
  const system = SYSTEM.filter((path) => existsSync(path)).flatMap((path) =>
    lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
  );
  const visible = [...etc, join(node, 'bin'), join(node, 'lib'), ...read].flatMap((path) => [
    '--ro-bind-try',
    path,
    path,
  ]);
  const isolated = [
    '--unshare-all',
    // Root could take away what hides the harness's own files.
    ...['--cap-drop', 'ALL'],
    ...(network ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
  ];
  const own = ['--setenv', 'HOME', '/tmp', '--setenv', 'TMPDIR', '/tmp'];
  const mounts = ['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', ...system, ...visible];
  return {
    name: 'bubblewrap',
    execution(line, cwd, hidden) {
      const { pinned, covered } = masksOf(cwd, hidden);
      const writable = [cwd, ...pinned].flatMap((path) => ['--bind', path, path]);
      const empty = covered.flatMap((path) => ['--tmpfs', path]);
      return {
        file: 'bwrap',
        args: [...isolated, ...mounts, ...writable, ...empty, '--chdir', cwd, ...own, 'sh', '-c', line],
      };
    },
  };
}

/**
 * Runs each command in a container of its own, with the working directory in it.
 *
 * @param options.program A command line like Docker's. Default `docker`.
 * @param options.network Whether it reaches the network. Default true.
 */
export function container(options: {
  readonly image: string;
  readonly program?: string;
  readonly network?: boolean;
}): Executor {
  const { image, program = 'docker', network = true } = options;
  return {
    name: `container ${image}`,
    execution(line, cwd, hidden) {
      const name = `x-${randomBytes(8).toString('hex')}`;
      const git = Object.entries(GIT_ENVIRONMENT).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
      const limits = ['--rm', '--init', '--name', name, ...(network ? [] : ['--network', 'none'])];
      const { pinned, covered } = masksOf(cwd, hidden);
      const writable = [cwd, ...pinned].flatMap((path) => ['-v', `${path}:${path}`]);
      const empty = covered.flatMap((path) => ['--tmpfs', path]);
      return {
        file: program,
        args: ['run', ...limits, ...git, ...writable, ...empty, '-w', cwd, image, 'sh', '-c', line],
        stop: { file: program, args: ['kill', name] },
      };
    },
  };
}

/** Makes the sandbox that this machine has: bubblewrap where it is installed and may be used, else `undefined`. */
export function findSandbox(options: Parameters<typeof bubblewrap>[0] = {}): Executor | undefined {
  const sandbox = bubblewrap(options);
  const { file, args } = sandbox.execution('true', '/usr');
  return spawnSync(file, args, { stdio: 'ignore', timeout: 10_000 }).status === 0 ? sandbox : undefined;
}
