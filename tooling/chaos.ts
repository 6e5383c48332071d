import { type ChildProcess, fork } from 'node:child_process';

/** How much processes write while servers and they are killed: `CHAOS=full` is the whole of it, which takes minutes. */
export const chaosLoad =
  process.env.CHAOS === 'full'
    ? { sessions: 200, turns: 20, writers: 4, kills: 12 }
    : { sessions: 12, turns: 6, writers: 3, kills: 2 };

/** Of every so many requests one goes wrong. */
export const DISTURBED = 29;

/** Starts a program of a test as a process with an IPC channel; its last argument is what it is to do. */
export function writerOf(program: URL, ...values: readonly string[]): (plan: object) => ChildProcess {
  return (plan) =>
    fork(program, [...values, JSON.stringify(plan)], {
      execArgv: ['--conditions=@x/source', '--import', 'tsx'],
    });
}
