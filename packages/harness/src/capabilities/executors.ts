import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { WorkspaceError } from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import { proxiedSandbox } from './internet-proxy.js';
import { type KeptFiles, masksOf } from './masks.js';
import { checkedPaths, checkOf, closeMounts, type Mount, openMounts } from './mounts.js';

/** A program that runs a command line, and optionally one that stops what remains after a kill. */
export interface Execution {
  readonly file: string;
  readonly args: readonly string[];
  readonly stop?: { readonly file: string; readonly args: readonly string[] } | undefined;
  /** Open files that the program gets as file descriptors, from {@link FIRST_HANDLE} on. They are closed when it has started. */
  readonly handles?: readonly number[];
}

/** The file descriptor of the first open file that a program gets. */
const FIRST_HANDLE = 3;

/** An environment in which `execute` runs commands. */
export interface Executor {
  readonly name: string;
  /** One sentence about this environment, for the description of `execute`. */
  readonly description?: string;
  /**
   * True if the executor enforces `kept` for every program. Then rules that deny files hold for every command, and a command line that
   * cannot be parsed needs no approval because of them. Default false.
   */
  readonly keepsFiles?: boolean;
  /** `file` if commands read only files, because they have no network. Default: the output of commands may be from anyone. */
  readonly origin?: 'file' | undefined;
  /**
   * Returns how to run a line with `sh -c` in `cwd`. The program runs with the command's environment.
   *
   * @param kept Paths to protect. A command must not be able to rename their parent directories either, because the
   * next command would use another path.
   */
  execution(line: string, cwd: string, kept?: KeptFiles): Execution;
}

/** Resource limits of each sandboxed command. 0 means no limit. */
export const sandboxLimitsSchema = z.strictObject({
  /** Bytes of data memory per process. */
  memory: z
    .int()
    .min(0)
    .default(4 * 2 ** 30),
  processes: z.int().min(0).default(512),
  /** Maximum size in bytes of a written file. */
  fileSize: z
    .int()
    .min(0)
    .default(2 ** 30),
  /** Maximum size in bytes of `/tmp`, and of `/dev/shm`. */
  tmp: z
    .int()
    .min(0)
    .default(2 ** 30),
});

export type SandboxLimits = z.input<typeof sandboxLimitsSchema>;

/**
 * Prevents Git from using a bare repository unless `--git-dir` names it. Otherwise files of the workspace could choose
 * the programs that `git status` starts. Git supports this setting since 2.38.
 */
export const GIT_ENVIRONMENT = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.bareRepository',
  GIT_CONFIG_VALUE_0: 'explicit',
};

/** Runs commands as the user of this process, with the same permissions. They can read its environment. */
export const localExecutor: Executor = {
  name: 'local',
  execution: (line) => ({ file: 'sh', args: ['-c', line] }),
};

/** System directories that programs need. Home directories and `/run` are not visible in the sandbox. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64'];

/** Configuration below the system directories, which may contain secrets. The sandbox hides it. */
const LOCAL = ['/usr/local/etc'];

/** Names below `/etc` that are visible in the sandbox. Omits `ssl/private`, because commands that run as root could read it. */
const ETC =
  'alternatives ca-certificates ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf ssl/certs ssl/openssl.cnf'.split(
    ' ',
  );

/** Maximum size in bytes of the sandbox's own `/etc`, and of its `/run`. */
const OWN_BYTES = 2 ** 16;

/**
 * Options that remount these directories read-only. Otherwise root could write to kernel files in `/proc`, even without capabilities, and
 * fill the memory through `/` and `/dev`.
 */
const READ_ONLY = ['/proc', '/dev', '/'].flatMap((path) => ['--remount-ro', path]);

/** Describes a sandbox by its network access, for the model and for the person who started the agent. */
const sandboxOf = (network: keyof typeof NETWORKS, privates: string) => ({
  description: `Commands run in a sandbox: ${NETWORKS[network]}, and ${privates}.`,
  keepsFiles: true,
  ...(network === 'none' && { origin: 'file' as const }),
});

const NETWORKS = {
  none: 'no network',
  internet: 'only public addresses through an HTTP proxy',
  host: 'the network of this machine',
};

/** Returns options that cover a folder with an empty, read-only one. */
const empty = (path: string) => ['--tmpfs', path, '--remount-ro', path];

const ETC_NETWORK = ['hosts', 'resolv.conf'];

/**
 * Runs each command in its own sandbox with bubblewrap (`bwrap`, Linux). The command sees the working directory, which
 * it may change, and the programs of the system. It sees no other files, processes, users or environment variables. Its
 * background processes end with it.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(shell({ executor: bubblewrap({ read: ['/opt/toolchain'] }) }));
 * ```
 * @param options.network Network access: `none`; `internet` for public addresses through an HTTP proxy; or `host` for
 *   everything that this machine reaches. Default `none`.
 * @param options.read Additional paths that commands may read.
 * @param options.limits Resource limits. Default: 4 GiB of memory per process, 512 processes, 1 GiB per file and for
 *   `/tmp`. The kernel does not limit the number of processes of root.
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
  const local = LOCAL.filter((path) => existsSync(path)).flatMap(empty);
  const visible = [...etc, join(node, 'bin'), join(node, 'lib'), ...read].flatMap((path) => [
    '--ro-bind-try',
    path,
    path,
  ]);
  const isolated = [
    '--unshare-all',
    // Root could otherwise unmount the covers of the harness's own files.
    ...['--cap-drop', 'ALL'],
    ...(network === 'host' ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
  ];
  const own = ['--setenv', 'HOME', '/tmp', '--setenv', 'TMPDIR', '/tmp'];
  const sized = (size: number, path: string) => [
    ...(limits.tmp > 0 && helpOfBwrap().includes('--size') ? ['--size', `${size}`] : []),
    ...['--tmpfs', path],
  ];
  const basic = [
    ...['--proc', '/proc', '--dev', '/dev', ...sized(limits.tmp, '/tmp'), ...sized(limits.tmp, '/dev/shm')],
    ...[...sized(OWN_BYTES, '/etc'), ...sized(OWN_BYTES, '/run'), '--symlink', '/tmp', '/var/tmp'],
    ...system,
    ...local,
    ...visible,
  ];
  return {
    name: 'bubblewrap',
    ...sandboxOf(network, 'a new /tmp for each command, which is also HOME'),
    execution(line, cwd, kept) {
      const proxied = network === 'internet' ? proxiedSandbox() : { options: [], script: [] };
      const { pinned, covered, emptied, fixed } = masksOf(cwd, kept);
      const mounts = openMounts(cwd, [...pinned, ...fixed]);
      const start = startOf(limits, [...checkOf(mounts), ...proxied.script]);
      const { args: binds, handles } = bindsOf(mounts, pinned.length);
      const masks = [
        ...['--bind', cwd, cwd, ...binds],
        ...covered.flatMap(empty),
        ...emptied.flatMap((path) => ['--dev-bind', '/dev/null', path]),
      ];
      return {
        file: 'bwrap',
        args: [
          ...[...isolated, ...basic, ...masks, ...proxied.options, ...READ_ONLY],
          ...['--chdir', cwd, ...own, ...start, line, ...checkedPaths(mounts)],
        ],
        handles,
      };
    },
  };
}

/**
 * Returns options of bubblewrap that mount files on themselves, read-only from the index `fixed` on, and the handles that the options name.
 * Old versions mount only paths, which the program then checks. They would pass the handles on to the command, which could reach every file of
 * this machine through an open folder.
 */
function bindsOf(mounts: readonly Mount[], fixed: number): Required<Pick<Execution, 'args' | 'handles'>> {
  const bind = (index: number) => (index < fixed ? '--bind' : '--ro-bind');
  if (helpOfBwrap().includes('--bind-fd')) {
    const args = mounts.flatMap(({ path }, at) => [`${bind(at)}-fd`, `${FIRST_HANDLE + at}`, path]);
    return { args, handles: mounts.map(({ handle }) => handle) };
  }
  closeMounts(mounts);
  return { args: mounts.flatMap(({ path }, at) => [bind(at), path, path]), handles: [] };
}

/** Returns a program that sets its limits, writes a user entry for itself, and then runs the line that follows. */
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
    // Shells use different letters for this limit.
    ...limit('u', processes).map((most) => `${most} 2> /dev/null || ${most.replace('-u', '-p')}`),
    'exec sh -c "$line"',
  ];
  return ['sh', '-c', script.join('\n'), 'sh'];
}

let help: string | undefined;

/** Returns the options of bubblewrap. Those of old versions lack `--size` and `--bind-fd`. */
function helpOfBwrap(): string {
  help ??= spawnSync('bwrap', ['--help'], { encoding: 'utf8' }).stdout ?? '';
  return help;
}

/**
 * Runs each command in a new container, with the working directory mounted.
 *
 * @example
 * ```ts
 * const tool = shell({ executor: container({ image: 'node:22', limits: { memory: 2 ** 30 } }) });
 * ```
 * @param options.program A program with Docker's command line interface. Default `docker`.
 * @param options.network `none` (default), or `host` for the default network access of containers.
 * @param options.limits As in {@link bubblewrap}, but `memory` limits all processes together.
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
    ...sandboxOf(network, `the files of the image ${image}`),
    execution(line, cwd, kept) {
      const name = `x-${randomBytes(8).toString('hex')}`;
      const git = Object.entries(GIT_ENVIRONMENT).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
      const isolated = network === 'host' ? [] : ['--network', 'none'];
      const { pinned, covered, emptied, fixed } = masksOf(cwd, kept);
      const odd = [cwd, ...pinned, ...fixed, ...covered, ...emptied].find((path) => path.includes(':'));
      if (odd !== undefined)
        throw new WorkspaceError(
          'outside_workspace',
          odd,
          `A container cannot mount ${odd}, because the path contains ":". Rename it.`,
        );
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
          ...['-w', cwd, image, 'sh', '-c', ...checked(line, cwd, [...pinned, ...fixed])],
        ],
        stop: { file: program, args: ['kill', name] },
      };
    },
  };
}

/**
 * Returns arguments for `sh -c` in a container that check its mounts and run a line. A container in a virtual machine numbers files
 * differently, so it cannot check.
 */
function checked(line: string, cwd: string, paths: readonly string[]): readonly string[] {
  const mounts = openMounts(cwd, paths);
  if (mounts.length === 0) return [line];
  closeMounts(mounts);
  const { dev, ino } = statSync(cwd, { bigint: true });
  const isAlike = `[ "$(command -p stat -c %d:%i .)" = ${dev}:${ino} ]`;
  const script = [`${isAlike} || exec sh -c "$1"`, ...checkOf(mounts), 'exec sh -c "$line"'];
  return [script.join('\n'), 'sh', line, ...checkedPaths(mounts)];
}

/** Returns the sandbox that this machine supports: bubblewrap if it is installed and permitted, or else `undefined`. */
export function findSandbox(options: Parameters<typeof bubblewrap>[0] = {}): Executor | undefined {
  const sandbox = bubblewrap(options);
  const { file, args } = sandbox.execution('true', '/usr');
  return spawnSync(file, args, { stdio: 'ignore', timeout: 10_000 }).status === 0 ? sandbox : undefined;
}
