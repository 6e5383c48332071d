import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import { proxiedSandbox } from './internet-proxy.js';
import { type KeptFiles, masksOf } from './masks.js';

/** A program to start instead of a command line, and one that stops what killing it leaves behind. */
export interface Execution {
  readonly file: string;
  readonly args: readonly string[];
  readonly stop?: { readonly file: string; readonly args: readonly string[] } | undefined;
}

/** A place in which `execute` runs commands. */
export interface Executor {
  readonly name: string;
  /**
   * Tells that it keeps commands from the files that it is told of, whatever they run. Then rules that deny files hold for every
   * command, and lines that are not understood need not be asked about because of them. Default false.
   */
  readonly keepsFiles?: boolean;
  /**
   * Says how to run a line for `sh -c` in `cwd`. The environment of the program is the command's own.
   *
   * @param kept Nor may a command rename a directory above one of these, or the next command is told of another path.
   */
  execution(line: string, cwd: string, kept?: KeptFiles): Execution;
}

/** What each command of a sandbox may use. `0` is no limit. */
export const sandboxLimitsSchema = z.strictObject({
  /** Bytes of memory for data, in each process. */
  memory: z
    .int()
    .min(0)
    .default(4 * 2 ** 30),
  processes: z.int().min(0).default(512),
  /** Bytes of a file that is written. */
  fileSize: z
    .int()
    .min(0)
    .default(2 ** 30),
  /** Bytes in `/tmp`. */
  tmp: z
    .int()
    .min(0)
    .default(2 ** 30),
});

export type SandboxLimits = z.input<typeof sandboxLimitsSchema>;

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

/** Configuration that an administrator put among the programs. */
const LOCAL = ['/usr/local/etc'];

const ETC =
  'alternatives ca-certificates ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf ssl'.split(' ');

const ETC_NETWORK = ['hosts', 'resolv.conf'];

/**
 * Runs each command in a sandbox of its own by bubblewrap (`bwrap`, Linux): it sees the working directory, which it may
 * change, the programs of the system, and nothing else; no other process, no user of the machine, and no environment but its own. What it starts ends
 * with it.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(shell({ executor: bubblewrap({ read: ['/opt/toolchain'] }) }));
 * ```
 * @param options.network What it reaches: `none`; by HTTP and HTTPS, `internet`, and neither this machine nor its networks; or, as `host`, all that this
 *   machine reaches. Default `none`.
 * @param options.read Further paths that it may read.
 * @param options.limits What it may use. Default: 4 GiB of memory in each process, 512 processes, files and `/tmp` of 1 GiB. The kernel does not
 *   limit the processes of root.
 * @throws {InvalidInputError} for limits that are not numbers.
 */
export function bubblewrap(
  options: {
    readonly network?: 'none' | 'internet' | 'host';
    readonly read?: readonly string[];
    readonly limits?: SandboxLimits;
  } = {},
): Executor {
  const { network = 'none', read = [] } = options;
  const limits = parseWith(sandboxLimitsSchema, options.limits ?? {}, 'sandbox limits');
  const etc = [...ETC, ...(network === 'host' ? ETC_NETWORK : [])].map((name) => `/etc/${name}`);
  const node = dirname(dirname(process.execPath));
  const system = SYSTEM.filter((path) => existsSync(path)).flatMap((path) =>
    lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
  );
  const local = LOCAL.filter((path) => existsSync(path)).flatMap((path) => ['--tmpfs', path]);
  const visible = [...etc, join(node, 'bin'), join(node, 'lib'), ...read].flatMap((path) => [
    '--ro-bind-try',
    path,
    path,
  ]);
  const isolated = [
    '--unshare-all',
    // Root could take away what hides the harness's own files.
    ...['--cap-drop', 'ALL'],
    ...(network === 'host' ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
  ];
  const own = ['--setenv', 'HOME', '/tmp', '--setenv', 'TMPDIR', '/tmp'];
  const tmp = [...(limits.tmp > 0 && canSizeTmp() ? ['--size', `${limits.tmp}`] : []), '--tmpfs', '/tmp'];
  const mounts = [
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...tmp,
    '--dir',
    '/etc',
    ...system,
    ...local,
    ...visible,
  ];
  return {
    name: 'bubblewrap',
    keepsFiles: true,
    execution(line, cwd, kept) {
      const proxied = network === 'internet' ? proxiedSandbox() : { options: [], script: [] };
      const start = startOf(limits, proxied.script);
      const { pinned, covered, emptied, fixed } = masksOf(cwd, kept);
      const masks = [
        ...[cwd, ...pinned].flatMap((path) => ['--bind', path, path]),
        ...fixed.flatMap((path) => ['--ro-bind', path, path]),
        ...covered.flatMap((path) => ['--tmpfs', path]),
        ...emptied.flatMap((path) => ['--dev-bind', '/dev/null', path]),
      ];
      return {
        file: 'bwrap',
        args: [...isolated, ...mounts, ...masks, '--chdir', cwd, ...own, ...proxied.options, ...start, line],
      };
    },
  };
}

/** A program that limits itself, makes up who it runs as, and then runs the line behind it. */
function startOf(
  { memory, processes, fileSize }: z.output<typeof sandboxLimitsSchema>,
  first: readonly string[],
): readonly string[] {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const name = uid === 0 ? 'root' : 'user';
  const limit = (flag: string, value: number) => (value > 0 ? [`ulimit -${flag} ${value}`] : []);
  const script = [
    `echo ${name}:x:${uid}:${gid}::/tmp:/bin/sh > /etc/passwd`,
    `echo ${name}:x:${gid}: > /etc/group`,
    ...first,
    ...limit('d', Math.ceil(memory / 1024)),
    ...limit('f', Math.ceil(fileSize / 512)),
    // Shells differ in the letter.
    ...limit('u', processes).map((most) => `${most} 2> /dev/null || ${most.replace('-u', '-p')}`),
    'exec sh -c "$1"',
  ];
  return ['sh', '-c', script.join('\n'), 'sh'];
}

let sizesTmp: boolean | undefined;

/** Bubblewrap limits the size of file systems from 0.7 on. */
function canSizeTmp(): boolean {
  sizesTmp ??= spawnSync('bwrap', ['--help'], { encoding: 'utf8' }).stdout?.includes('--size') ?? false;
  return sizesTmp;
}

/**
 * Runs each command in a new container, with the working directory mounted.
 *
 * @example
 * ```ts
 * const tool = shell({ executor: container({ image: 'node:22', limits: { memory: 2 ** 30 } }) });
 * ```
 * @param options.program A command line like Docker's. Default `docker`.
 * @param options.network `none` (default), or `host` for what containers reach by default.
 * @param options.limits As those of {@link bubblewrap}. `memory` counts all processes together.
 * @throws {InvalidInputError} for limits that are not numbers.
 */
export function container(options: {
  readonly image: string;
  readonly program?: string;
  readonly network?: 'none' | 'host';
  readonly limits?: SandboxLimits;
}): Executor {
  const { image, program = 'docker', network = 'none' } = options;
  const limits = parseWith(sandboxLimitsSchema, options.limits ?? {}, 'sandbox limits');
  const limited = [
    ...(limits.memory > 0 ? ['--memory', `${limits.memory}`] : []),
    ...(limits.processes > 0 ? ['--pids-limit', `${limits.processes}`] : []),
    ...(limits.fileSize > 0 ? ['--ulimit', `fsize=${limits.fileSize}`] : []),
    ...(limits.tmp > 0 ? ['--tmpfs', `/tmp:exec,size=${limits.tmp}`] : []),
  ];
  return {
    name: `container ${image}`,
    keepsFiles: true,
    execution(line, cwd, kept) {
      const name = `x-${randomBytes(8).toString('hex')}`;
      const git = Object.entries(GIT_ENVIRONMENT).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
      const isolated = network === 'host' ? [] : ['--network', 'none'];
      const { pinned, covered, emptied, fixed } = masksOf(cwd, kept);
      const masks = [
        ...[cwd, ...pinned].flatMap((path) => ['-v', `${path}:${path}`]),
        ...fixed.flatMap((path) => ['-v', `${path}:${path}:ro`]),
        ...covered.flatMap((path) => ['--tmpfs', path]),
        ...emptied.flatMap((path) => ['-v', `/dev/null:${path}:ro`]),
      ];
      return {
        file: program,
        args: [
          ...['run', '--rm', '--init', '--name', name, ...isolated, ...limited, ...git, ...masks],
          ...['-w', cwd, image, 'sh', '-c', line],
        ],
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
