import { existsSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { type Capability, defineTool, InvalidInputError, type Tool, WorkspaceError } from '@x/core';
import { having, parseWith, withEnd } from '@x/core/internal';
import * as z from 'zod';
import { runProgram } from '../lib/run-program.js';
import {
  type Executor,
  findSandbox,
  GIT_ENVIRONMENT,
  localExecutor,
  sandboxLimitsSchema,
} from './executors.js';
import { type Folders, keptBelow } from './kept-files.js';
import { isDenied, LOCKS, STORAGE } from './masks.js';

export const shellConfigSchema = z.strictObject({
  /** The directory in which commands run. Default: the root of a local workspace. */
  cwd: z.string().min(1).optional(),
  /**
   * Directories and files to hide from commands in a sandbox, in addition to each `.x/` below the working directory and
   * the files that rules deny.
   */
  hidden: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^*?]*$/, 'must be a path, without wildcards'),
    )
    .default([]),
  /** Default timeout of a command in milliseconds. The model may request another one, up to `maxTimeoutMs`. */
  timeoutMs: z.int().min(1).default(60_000),
  maxTimeoutMs: z.int().min(1).default(600_000),
  /** Maximum number of output characters to keep: half from the beginning, half from the end. */
  maxOutputChars: z.int().min(1_000).default(1_000_000),
  /** Names of additional environment variables to pass on. */
  passEnvironment: z.array(z.string()).default([]),
  /**
   * Runs commands in a sandbox (bubblewrap): always (`required`), if the machine supports it (`auto`), or never
   * (`none`).
   */
  sandbox: z.enum(['required', 'auto', 'none']).default('none'),
  /**
   * Network access of commands in the sandbox: nothing (`none`), public addresses through an HTTP proxy (`internet`), or
   * everything that this machine reaches, including its own servers (`host`).
   */
  network: z.enum(['none', 'internet', 'host']).default('none'),
  /** Resource limits of a command in the sandbox, in bytes and counts. 0 means no limit. */
  limits: sandboxLimitsSchema.prefault({}),
  /** Executor that runs commands, in place of `sandbox`: `bubblewrap(…)`, `container(…)`, or your own. */
  executor: z.optional(having<Executor>('execution', 'an Executor')),
});

export interface ShellConfig extends Omit<z.input<typeof shellConfigSchema>, 'executor'> {
  readonly executor?: Executor | undefined;
}

/**
 * Adds `execute`, which runs shell commands as the user of this process unless `sandbox` or `executor` is set. Commands
 * get a minimal environment, in which Git uses a bare repository only if `--git-dir` names it. Without a sandbox,
 * commands can still read the environment of this process.
 *
 * A timeout or an interruption kills the whole process group, except for daemons that left it with `setsid`. `execute`
 * returns as soon as the command exits. Its background processes continue, except in a sandbox.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(shell({ sandbox: 'required' }), permissions({ allow: ['execute(npm test)'] }));
 * ```
 * @throws {InvalidInputError} for a malformed configuration, or a required sandbox that this machine does not have.
 */
export function shell(config: ShellConfig = {}): Capability {
  const settings = parseWith(shellConfigSchema, config, 'shell configuration');
  const { sandbox, network, limits } = settings;
  const found = settings.executor ?? (sandbox === 'none' ? undefined : findSandbox({ network, limits }));
  if (found === undefined && sandbox === 'required') {
    throw new InvalidInputError('shell configuration', [{ path: 'sandbox', message: NO_SANDBOX }]);
  }
  let warns = found === undefined && sandbox === 'auto';
  return {
    name: 'shell',
    tools: [executeTool(settings, found ?? localExecutor)],
    install({ name, isolation }) {
      if (found !== undefined || isolation === 'shared') return;
      if (!warned.has(name))
        process.emitWarning(`Agent "${name}": ${NOT_ISOLATED}`, { code: 'shell_not_isolated' });
      warned.add(name);
      warns = false;
    },
    aroundCall(scope, next) {
      if (warns)
        scope.emit({ type: 'warning', source: 'shell', message: `Commands run as this user: ${NO_SANDBOX}` });
      warns = false;
      return next();
    },
  };
}

const NO_SANDBOX = 'this machine has no sandbox; install bubblewrap, and allow user namespaces';

/** Names of agents about which the process was warned. An agent may be built for each request. */
const warned = new Set<string>();

const NOT_ISOLATED =
  'shell() runs commands without a sandbox, so a command of one user can read and change the files of all others. ' +
  "Set shell({ sandbox: 'required' }), or isolation('shared') if all share their files.";

function executeTool(settings: z.output<typeof shellConfigSchema>, executor: Executor): Tool {
  const folders: Folders = new Map();
  return defineTool({
    name: 'execute',
    description: `Runs a shell command and returns its exit code and output (stdout and stderr together). Commands must not wait for input.${executor.description === undefined ? '' : ` ${executor.description}`}`,
    // The tool applies its own timeout below. The harness's timeout would hide its message.
    timeoutMs: 0,
    ...(settings.cwd === undefined ? {} : { directory: settings.cwd }),
    ...(executor.keepsFiles === undefined ? {} : { keepsFiles: executor.keepsFiles }),
    ...(executor.origin === undefined ? {} : { origin: executor.origin }),
    input: z.strictObject({
      command: z.string().trim().min(1).describe('The command, which runs with sh -c'),
      timeoutMs: z.int().min(1).max(settings.maxTimeoutMs).optional().describe('Timeout in milliseconds'),
    }),
    async execute({ command, timeoutMs = settings.timeoutMs }, { workspace, signal, deniedFiles = [] }) {
      const { root } = workspace as { readonly root?: unknown };
      const cwd = settings.cwd ?? root;
      if (typeof cwd !== 'string') {
        throw new WorkspaceError(
          'workspace_io',
          '',
          'This workspace has no local directory; configure shell({ cwd }).',
        );
      }
      // The directory does not exist while a user has no files.
      if (settings.cwd === undefined) await mkdir(cwd, { recursive: true, mode: 0o700 });
      const isOpen = executor === localExecutor;
      // Create the storage first. Otherwise a command could create it and plant files that agents trust.
      if (!isOpen && typeof root === 'string') await makeStorage(root);
      const hidden = hiddenFrom(cwd, settings, root);
      const search = { folders, signal, rules: deniedFiles, root: typeof root === 'string' ? root : cwd };
      const kept = isOpen || !existsSync(cwd) ? undefined : await keptBelow(cwd, search);
      const execution = executor.execution(command, cwd, {
        hidden: [...hidden, ...(kept?.hidden ?? [])],
        readOnly: kept?.readOnly ?? [],
      });
      const environment = GIT_ENVIRONMENT;
      const { end, status, output } = await runProgram(execution, {
        ...settings,
        environment,
        cwd,
        timeoutMs,
        signal,
      });
      const text = `${status}\n${output}`.trimEnd();
      return [{ type: 'text', text, providerMetadata: withEnd(end) }];
    },
  });
}

/**
 * Returns the paths below the working directory to hide from commands.
 *
 * @throws {WorkspaceError} `outside_workspace` if the configured working directory is inside a storage directory.
 */
function hiddenFrom(
  cwd: string,
  settings: z.output<typeof shellConfigSchema>,
  root: unknown,
): readonly string[] {
  const isKept = (path: string) => path.split(sep).includes(STORAGE);
  if (settings.cwd !== undefined && existsSync(cwd) && isKept(realpathSync(cwd))) {
    const message = `Commands do not run in ${cwd}: it is in a directory ${STORAGE}, which holds data of all users.`;
    throw new WorkspaceError('outside_workspace', cwd, message);
  }
  const storages = typeof root === 'string' ? ownIn(root).map(realOf) : [];
  // Do not resolve links in the directory: the sandbox rejects them.
  const configured = settings.hidden.map((place) => resolve(cwd, place));
  const tops = [cwd, realOf(cwd)].map((top) => join(top, sep));
  return [...storages, ...configured].flatMap((place) => {
    for (const path of [place, realOf(place)]) {
      const top = tops.find((directory) => path.startsWith(directory));
      if (top !== undefined) return [join(cwd, path.slice(top.length))];
    }
    return [];
  });
}

/** Returns the directories for the agent's own data, which belongs to all users, and for the locks of its workspace. */
function ownIn(root: string): readonly string[] {
  const workspace = root.split(`${sep}${STORAGE}${sep}`)[0] ?? root;
  return [STORAGE, LOCKS].map((name) => join(workspace, name));
}

async function makeStorage(root: string): Promise<void> {
  try {
    for (const own of ownIn(root)) await mkdir(own, { recursive: true, mode: 0o700 });
  } catch (error) {
    // If this process lacks the permission, a command lacks it as well.
    if (!isDenied(error) && (error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
}

function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
