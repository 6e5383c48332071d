import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { TurnPlan } from '@x/testkit';

/** How much is written: `CHAOS=full` is the whole of it, which takes minutes. */
export const load =
  process.env.CHAOS === 'full'
    ? { sessions: 200, turns: 20, writers: 4, kills: 12 }
    : { sessions: 12, turns: 6, writers: 3, kills: 2 };

/** A process that writes turns to the Redis at this address. */
export function writer(
  kind: 'single' | 'sentinel' | 'cluster',
  address: string,
  plan: TurnPlan,
): ChildProcess {
  const program = join(import.meta.dirname, '../children/write-turns.ts');
  return fork(program, [kind, address, JSON.stringify(plan)], {
    execArgv: ['--conditions=@x/source', '--import', 'tsx'],
  });
}
