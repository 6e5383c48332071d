import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { WorkspaceError } from '@x/core';
import { type CommandEnd, headOf, startTimer, tailOf } from '@x/core/internal';
import type { Execution } from '../capabilities/executors.js';
import { Interruption } from '../errors/interruption.js';

/** Environment variables that commands need. No others are passed on, because they may contain secrets. */
const DEFAULT_ENVIRONMENT = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TERM', 'TMPDIR', 'TZ', 'USER', 'SHELL'];

/** Milliseconds to wait for the end of the output after the command has exited. */
const GRACE_MS = 300;

const LEFT_RUNNING =
  ' (a process that it started still runs in the background; redirect its output to a file to read it)';

interface ProgramOptions {
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Names of additional environment variables to pass on. */
  readonly passEnvironment: readonly string[];
  /** Default values of variables that are not passed on. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Maximum number of output characters to keep: half from the beginning, half from the end. */
  readonly maxOutputChars: number;
  /** Text for standard input. If present, standard error is captured separately from the output. */
  readonly input?: string | undefined;
}

interface ProgramEnd {
  readonly end: CommandEnd;
  /** Describes how the program ended. */
  readonly status: string;
  readonly output: string;
  /** Standard error if there was an input; otherwise the same as `output`, which contains both. */
  readonly errors: string;
}

/** Functions that kill the running programs. */
const running = new Set<() => void>();

function killAll(): void {
  for (const kill of running) kill();
}

/** Kills a program at an interruption, or when this process exits. Returns a function that ends this. */
function onStop(signal: AbortSignal, kill: () => void): () => void {
  signal.addEventListener('abort', kill, { once: true });
  if (running.size === 0) process.once('exit', killAll);
  running.add(kill);
  return () => {
    signal.removeEventListener('abort', kill);
    running.delete(kill);
    if (running.size === 0) process.off('exit', killAll);
  };
}

/**
 * Runs a program with a minimal environment. A timeout, an interruption and the exit of this process kill its whole process group.
 *
 * @throws {WorkspaceError} if the program cannot be started.
 */
export function runProgram(execution: Execution, options: ProgramOptions): Promise<ProgramEnd> {
  const { cwd, timeoutMs, signal, passEnvironment, environment, maxOutputChars, input } = options;
  const { stop } = execution;
  const names = [...DEFAULT_ENVIRONMENT, ...passEnvironment];
  const passed = names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const env = { ...environment, ...Object.fromEntries(passed) };
  return new Promise((resolve, reject) => {
    const child = start(execution, options, env);
    const { stdin, stdout, stderr } = child;
    const output = new BoundedOutput(maxOutputChars);
    const errors = input === undefined ? output : new BoundedOutput(maxOutputChars);
    let note = '';
    const kill = (reason: string) => {
      note = reason;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
        if (stop !== undefined) spawn(stop.file, stop.args, { stdio: 'ignore', env }).once('error', () => {});
      } catch {
        // The program has already exited.
      }
    };
    const stopTimer = startTimer(timeoutMs, () => kill(`timed out after ${timeoutMs} ms and was killed`));
    const startedAt = performance.now();
    const forget = onStop(signal, () => kill(stopStatus(signal, startedAt)));
    let stopGrace = () => {};
    const settle = () => {
      stopTimer();
      stopGrace();
      forget();
    };
    stdout?.setEncoding('utf8').on('data', (text: string) => output.add(text));
    stderr?.setEncoding('utf8').on('data', (text: string) => errors.add(text));
    // A program may end without reading its input.
    stdin?.on('error', () => {}).end(input);
    child.once('error', (error) => {
      settle();
      reject(
        new WorkspaceError(
          'workspace_io',
          cwd,
          `The command could not be started in ${cwd}: ${error.message}`,
        ),
      );
    });
    child.once('exit', (code, killedBy) => {
      const status = note || (killedBy ? `killed by ${killedBy}` : `exit ${code}`);
      const end = (remark: string) => {
        settle();
        resolve({
          end: note === '' && code !== null ? { failed: code !== 0, exitCode: code } : { failed: true },
          status: `${status}${remark}`,
          output: output.text(),
          errors: errors.text(),
        });
      };
      child.once('close', () => end(''));
      // Background processes of the command keep the pipes open. Do not wait for them.
      stopGrace = startTimer(GRACE_MS, () => {
        stdout?.destroy();
        stderr?.destroy();
        end(LEFT_RUNNING);
      });
    });
  });
}

/** Starts a program in its own process group, so that child processes are killed with it. Closes the handles of the execution. */
function start(
  { file, args, handles = [] }: Execution,
  { cwd, input, signal }: ProgramOptions,
  env: NodeJS.ProcessEnv,
): ChildProcess {
  try {
    signal.throwIfAborted();
    const stdin = input === undefined ? 'ignore' : 'pipe';
    return spawn(file, args, { cwd, env, detached: true, stdio: [stdin, 'pipe', 'pipe', ...handles] });
  } finally {
    for (const handle of handles) closeSync(handle);
  }
}

function stopStatus({ reason }: AbortSignal, startedAt: number): string {
  const by = reason instanceof Interruption && reason.kind !== 'interrupted' ? 'agent' : 'user';
  return `stopped by the ${by} after ${Math.round((performance.now() - startedAt) / 1_000)} s`;
}

/** Keeps the beginning and the end of a stream of text within a limit. */
class BoundedOutput {
  readonly #half: number;
  #head = '';
  #tail = '';
  #total = 0;

  constructor(limit: number) {
    this.#half = Math.floor(limit / 2);
  }

  add(text: string): void {
    this.#total += text.length;
    const room = this.#half - this.#head.length;
    const first = headOf(text, room);
    this.#head += first;
    this.#tail += text.slice(first.length);
    // Trim only occasionally, so that a long output is not copied for every chunk.
    if (this.#tail.length > 2 * this.#half) this.#tail = tailOf(this.#tail, this.#half);
  }

  text(): string {
    const tail = tailOf(this.#tail, this.#half);
    const omitted = this.#total - this.#head.length - tail.length;
    return omitted > 0
      ? `${this.#head}\n... (${omitted} characters omitted) ...\n${tail}`
      : this.#head + tail;
  }
}
