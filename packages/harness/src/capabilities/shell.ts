import { existsSync, realpathSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { type Capability, defineTool, InvalidInputError, type Tool, WorkspaceError } from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import { runProgram } from '../lib/run-program.js';
import { type Executor, findSandbox, GIT_ENVIRONMENT, localExecutor } from './executors.js';
import { isDenied, STORAGE } from './masks.js';

export const shellConfigSchema = z.strictObject({
  /** The directory in which commands run. Default: the root of a local workspace. */
  cwd: z.string().min(1).optional(),
  /** Directories that commands in a sandbox do not see, beside each `.x/` below the working directory. */
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
  /** Runs commands in a sandbox (bubblewrap): always, where the machine has one, or never. */
  sandbox: z.enum(['required', 'auto', 'none']).default('none'),
  /** Whether commands in the sandbox reach the network. */
  network: z.boolean().default(true),
  /** The place in which commands run, in place of `sandbox`: `bubblewrap(…)`, `container(…)`, or one of your own. */
  executor: z.custom<Executor>((value) => typeof (value as Executor).execution === 'function').optional(),
});

export interface ShellConfig extends Omit<z.input<typeof shellConfigSchema>, 'executor'> {
  readonly executor?: Executor | undefined;
}

/**
 * `execute`: runs shell commands, as the user of this process unless `sandbox` or `executor` says otherwise. Commands are
 * given a minimal environment, in which Git takes a bare repository only where `--git-dir` names it; without a sandbox they can still read that of this process. A time-out or an interruption
 * kills the whole process group, but no daemon that left it by `setsid`. A command that ends is answered at once; what it
 * leaves in the background goes on, but in a sandbox.
 *
 * @throws {InvalidInputError} for a malformed configuration, or a required sandbox that this machine does not have.
 */
export function shell(config: ShellConfig = {}): Capability {
  const settings = parseWith(shellConfigSchema, config, 'shell configuration');
  const { sandbox, network } = settings;
  const found = settings.executor ?? (sandbox === 'none' ? undefined : findSandbox({ network }));
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
    input: z.strictObject({
      command: z.string().trim().min(1).describe('The command, for sh -c'),
      timeoutMs: z.int().min(1).max(settings.maxTimeoutMs).optional().describe('Milliseconds it may take'),
    }),
    async execute({ command, timeoutMs = settings.timeoutMs }, { workspace, signal }) {
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
      const storages = isOpen || !existsSync(cwd) ? [] : await storagesBelow(cwd, folders, signal);
      const execution = executor.execution(command, cwd, [...hidden, ...storages]);
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
    const message = `Commands do not run in ${cwd}: it is in a directory ${STORAGE}, where agents keep what is of all users.`;
    throw new WorkspaceError('outside_workspace', cwd, message);
  }
  const storages = typeof root === 'string' ? [realOf(storageIn(root))] : [];
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

/** The directory in which an agent keeps what is its own and of all its users. */
function storageIn(root: string): string {
  return join(root.split(`${sep}${STORAGE}${sep}`)[0] ?? root, STORAGE);
}

async function makeStorage(root: string): Promise<void> {
  try {
    await mkdir(storageIn(root), { recursive: true, mode: 0o700 });
  } catch (error) {
    // Where this process may not, a command may not.
    if (!isDenied(error) && (error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
}

function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Folders without sources, which are not searched. */
const SKIPPED = ['.git', 'node_modules'];

/** The names of the folders within folders that were read, and what of each folder changes with them. */
type Folders = Map<
  string,
  { readonly dev: bigint; readonly ino: bigint; readonly ctimeNs: bigint; readonly names: readonly string[] }
>;

/** Milliseconds for which a change may leave a folder's time as it is: systems write times in ticks. */
const TICK_MS = 2_000;

/**
 * Finds what any agent keeps below a directory: whose it is, nobody knows. A folder that this process may not look into is taken for such.
 * A folder is read again when its device, its inode or the time of its last change is another; a command cannot set that time, as it
 * can that of the contents.
 */
async function storagesBelow(
  directory: string,
  folders: Folders,
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const now = await stat(directory, { bigint: true }).catch(gone);
  if (now === undefined) return [];
  const { dev, ino, ctimeNs } = now;
  let known = folders.get(directory);
  try {
    if (known?.dev !== dev || known.ino !== ino || known.ctimeNs !== ctimeNs) {
      const entries = (await readdir(directory, { withFileTypes: true }).catch(gone)) ?? [];
      const below = entries.filter((entry) => entry.isDirectory() && !SKIPPED.includes(entry.name));
      known = { dev, ino, ctimeNs, names: below.map(({ name }) => name) };
      if (ctimeNs < BigInt(Date.now() - TICK_MS) * 1_000_000n) folders.set(directory, known);
    }
    const found = known.names.map((name) => {
      const place = join(directory, name);
      return name.toLowerCase() === STORAGE ? [place] : storagesBelow(place, folders, signal);
    });
    return (await Promise.all(found)).flat();
  } catch (error) {
    // To read a folder, or to look at one in it, takes a right that its owner can give back to a command.
    if (!isDenied(error)) throw error;
    return [directory];
  }
}

/** Takes a folder for empty that is gone. Any other failure would show what it holds. */
function gone(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) throw error;
}
