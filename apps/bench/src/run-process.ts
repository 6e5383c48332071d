import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface ProcessOptions extends Pick<SpawnOptions, 'cwd' | 'env'> {
  /** After so many milliseconds it is killed. */
  readonly timeoutMs: number;
  /** Kills it. */
  readonly stopped: AbortSignal;
}

export interface ProcessOutcome {
  /** `null` when it was killed. */
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/**
 * Runs a program to its end, in a process group of its own: what it has started is killed with it, and a Ctrl-C reaches
 * it through `stopped` alone.
 *
 * @throws the reason of `stopped` once the program is gone; what starting it throws, when it cannot be started.
 */
export async function runProcess(
  command: string,
  args: readonly string[],
  { timeoutMs, stopped, ...options }: ProcessOptions,
): Promise<ProcessOutcome> {
  stopped.throwIfAborted();
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => killGroup(child.pid);
  const timer = setTimeout(kill, timeoutMs);
  stopped.addEventListener('abort', kill, { once: true });
  try {
    const closed = once(child, 'close') as Promise<[code: number | null]>;
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    stopped.throwIfAborted();
    return { code, output, errors };
  } finally {
    clearTimeout(timer);
    stopped.removeEventListener('abort', kill);
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It ended on its own in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
