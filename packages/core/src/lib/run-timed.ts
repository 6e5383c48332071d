import { TimeLimitError } from './deadline.js';

/** Part of the limit that must be used to count as a timeout, because CPU time may lag a little behind the timer of `node:vm`. */
const MARGIN = 0.9;

let timed: ((task: () => void, ms: number) => void) | undefined;

/**
 * Runs a synchronous task for at most `ms` milliseconds of CPU time, because untrusted regular expressions may backtrack. Only `node:vm`
 * can interrupt a match; without it, the task has no limit here. On a busy machine the task is run again with more time, so it must not
 * have side effects.
 *
 * @throws {TimeLimitError} when the task takes longer.
 */
export function runTimed<Value>(ms: number, task: () => Value): Value {
  let value: Value | undefined;
  timed ??= timedRunner();
  timed(() => {
    value = task();
  }, ms);
  return value as Value;
}

function timedRunner(): (task: () => void, ms: number) => void {
  const vm = typeof process === 'object' ? process.getBuiltinModule?.('node:vm') : undefined;
  if (vm === undefined) return (task) => task();
  const sandbox = vm.createContext({ task: undefined as (() => void) | undefined });
  const script = new vm.Script('task()');
  return (task, ms) => {
    sandbox.task = task;
    try {
      for (let timeout = ms; ; ) {
        const began = process.cpuUsage();
        try {
          return void script.runInContext(sandbox, { timeout });
        } catch (error) {
          if ((error as { readonly code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
          const { user, system } = process.cpuUsage(began);
          const usedMs = (user + system) / 1_000;
          if (usedMs >= ms * MARGIN) throw new TimeLimitError('The task', 'ms', ms);
          timeout = Math.ceil(timeout * Math.min(10, ms / usedMs));
        }
      }
    } finally {
      sandbox.task = undefined;
    }
  };
}
