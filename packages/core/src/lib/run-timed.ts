import { TimeLimitError } from './deadline.js';

let timed: ((task: () => void, ms: number) => void) | undefined;

/**
 * Runs a synchronous task for at most `ms` milliseconds: regular expressions backtrack, and are often a stranger's. Only `node:vm` can
 * end a match that backtracks; if there is none, the runtime limits its programs itself.
 *
 * @throws {TimeLimitError} when the task takes longer.
 */
export function runTimed<Value>(ms: number, task: () => Value): Value {
  let value: Value | undefined;
  timed ??= timedRunner();
  try {
    timed(() => {
      value = task();
    }, ms);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new TimeLimitError('The task', 'ms', ms);
  }
  return value as Value;
}

function timedRunner(): (task: () => void, ms: number) => void {
  const vm = typeof process === 'object' ? process.getBuiltinModule?.('node:vm') : undefined;
  if (vm === undefined) return (task) => task();
  const sandbox = vm.createContext({ task: undefined as (() => void) | undefined });
  const script = new vm.Script('task()');
  return (task, timeout) => {
    sandbox.task = task;
    try {
      script.runInContext(sandbox, { timeout });
    } finally {
      sandbox.task = undefined;
    }
  };
}
