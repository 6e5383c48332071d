import { existsSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { type Capability, defineTool, InvalidInputError, type Tool, WorkspaceError } from '@x/core';
import { parseWith } from '@x/core/internal';
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
   * Directories and files to hide from commands in a sandbox, beside each `.x/` below the working directory and what rules deny.
   */
  hidden: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^*?]*$/, 'must be a path, without wildcards'),
    )
    .default([]),
  /** Milliseconds that a command may take; the model may ask for less or more, up to `maxTimeoutMs`. */
  timeoutMs: z.int().min(1).default(60_000),
  maxTimeoutMs: z.int().min(1).default(600_000),
  /** Characters of output that are kept: half from the beginning, half from the end. */
  maxOutputChars: z.int().min(1_000).default(1_000_000),
  /** Names of further environment variables to pass on. */
  passEnvironment: z.array(z.string()).default([]),
  /** Runs commands in a sandbox (bubblewrap): always, if the machine has one, or never. */
  sandbox: z.enum(['required', 'auto', 'none']).default('none'),
  /**
   * What commands in the sandbox reach: nothing (`none`), public addresses by HTTP and HTTPS (`internet`), or all that this
   * machine reaches, including its own servers (`host`).
   */
  network: z.enum(['none', 'internet', 'host']).default('none'),
  /** What a command in the sandbox may use, in bytes and numbers; 0 for no limit. */
  limits: sandboxLimitsSchema.prefault({}),
  /** The place in which commands run, instead of `sandbox`: `bubblewrap(…)`, `container(…)`, or one of your own. */
  executor: z.custom<Executor>((value) => typeof (value as Executor).execution === 'function').optional(),
});

export interface ShellConfig extends Omit<z.input<typeof shellConfigSchema>, 'executor'> {
  readonly executor?: Executor | undefined;
}

/**
 * `execute`: runs shell commands, as the user of this process unless `sandbox` or `executor` says otherwise. Commands are
 * given a minimal environment, in which Git takes a bare repository only where `--git-dir` names it; without a sandbox they can still read that of this process. A time-out or an interruption
 * kills the whole process group, but no daemon that left it by `setsid`. A command that ends is answered at once; what it
 * leaves in the background continues, but in a sandbox.
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
    aroundCall(scope, next) {
      if (warns)
        scope.emit({ type: 'warning', source: 'shell', message: `Commands run as this user: ${NO_SANDBOX}` });
      warns = false;
      return next();
    },
  };
}

const NO_SANDBOX = 'there is no sandbox here; install bubblewrap, and allow it user namespaces';

function executeTool(settings: z.output<typeof shellConfigSchema>, executor: Executor): Tool {
  const folders: Folders = new Map();
  return defineTool({
    name: 'execute',
    description:
      'Runs a shell command and returns its exit code and output (stdout and stderr together). Commands must not wait for input.',
    // The limit below is the command's own; the harness's would only hide its message.
    timeoutMs: 0,
    ...(settings.cwd === undefined ? {} : { directory: settings.cwd }),
    ...(executor.keepsFiles === undefined ? {} : { keepsFiles: executor.keepsFiles }),
    input: z.strictObject({
      command: z.string().trim().min(1).describe('The command, for sh -c'),
      timeoutMs: z.int().min(1).max(settings.maxTimeoutMs).optional().describe('Milliseconds it may take'),
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
      // That of a user who has no files yet.
      if (settings.cwd === undefined) await mkdir(cwd, { recursive: true, mode: 0o700 });
      const isOpen = executor === localExecutor;
      // Or a command could make it, with what agents take for their own.
      if (!isOpen && typeof root === 'string') await makeStorage(root);
      const hidden = hiddenFrom(cwd, settings, root);
      const search = { folders, signal, rules: deniedFiles, root: typeof root === 'string' ? root : cwd };
      const kept = isOpen || !existsSync(cwd) ? undefined : await keptBelow(cwd, search);
      const execution = executor.execution(command, cwd, {
        hidden: [...hidden, ...(kept?.hidden ?? [])],
        readOnly: kept?.readOnly ?? [],
      });
      const environment = GIT_ENVIRONMENT;
      const { status, output } = await runProgram(execution, {
        ...settings,
        environment,
        cwd,
        timeoutMs,
        signal,
      });
      return `${status}\n${output}`.trimEnd();
    },
  });
}

/**
 * Finds the directories below the working directory that commands are not to see.
 *
 * @throws {WorkspaceError} `outside_workspace` for a configured working directory within a storage.
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
  // A link in the directory that leads to one of these is for the sandbox to refuse: it is not resolved.
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

/** The directories in which an agent keeps what is its own and of all its users, and the locks of its workspace. */
function ownIn(root: string): readonly string[] {
  const workspace = root.split(`${sep}${STORAGE}${sep}`)[0] ?? root;
  return [STORAGE, LOCKS].map((name) => join(workspace, name));
}

async function makeStorage(root: string): Promise<void> {
  try {
    for (const own of ownIn(root)) await mkdir(own, { recursive: true, mode: 0o700 });
  } catch (error) {
    // Where this process may not, a command may not.
    if (!isDenied(error) && (error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
}

function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
