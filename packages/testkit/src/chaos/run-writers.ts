import type { ChildProcess } from 'node:child_process';
import { randomNumbers } from '../random-numbers.js';
import type { TurnEvent, TurnPlan } from './write-turns.js';

export interface RunWritersOptions extends Omit<TurnPlan, 'writer'> {
  /** Starts a process with an IPC channel (`fork`) that calls {@link writeTurns} with this plan and ends. */
  start(plan: TurnPlan): ChildProcess;
  /** Processes at a time. */
  readonly writers: number;
  /** How often one of them is killed (SIGKILL), with another in its place. */
  readonly kills: number;
  /** What happens to the backend meanwhile, in this order. */
  readonly disruptions?: readonly (() => Promise<unknown>)[] | undefined;
}

/**
 * Lets processes write the same sessions, kills some of them and disrupts the backend, all at numbers of turns that the
 * seed decides, and answers what the processes have said.
 *
 * @throws {Error} when a process fails by itself, or all is written before everything has happened.
 */
export async function runWriters(options: RunWritersOptions): Promise<readonly TurnEvent[]> {
  const random = randomNumbers(options.seed);
  const history: TurnEvent[] = [];
  let acknowledged = 0;
  const running = new Map<ChildProcess, Promise<void>>();
  const killed = new Set<ChildProcess>();
  let count = 0;
  let failure: unknown;

  const begin = () => {
    count += 1;
    const { sessions, turns } = options;
    const child = options.start({ writer: `w${count}`, seed: options.seed + count, sessions, turns });
    child.on('message', (message) => {
      const event = message as TurnEvent;
      history.push(event);
      if (event.type !== 'ok') return;
      acknowledged += 1;
      happen();
    });
    running.set(
      child,
      ended(child).then((code) => {
        running.delete(child);
        if (code !== 0 && !killed.has(child)) failure ??= new Error(`A writer ended with ${code}.`);
      }),
    );
  };
  const kill = async () => {
    const children = [...running.keys()];
    const victim = children[random(children.length)];
    if (victim === undefined) return;
    killed.add(victim);
    victim.kill('SIGKILL');
    begin();
  };

  const events = shuffled(random, [
    ...Array.from({ length: options.kills }, () => kill),
    ...(options.disruptions ?? []).map(() => undefined),
  ]);
  const disruptions = [...(options.disruptions ?? [])];
  // All of it within the first three quarters of the turns: something must go on afterwards.
  const step = (0.75 * options.sessions * options.turns) / (events.length + 1);
  const due = events.map((_, index) => Math.floor(step * (index + 1)) + random(Math.ceil(step / 2)));
  let happening: Promise<unknown> = Promise.resolve();
  const happen = () => {
    while (due[0] !== undefined && acknowledged >= due[0]) {
      due.shift();
      const event = events.shift() ?? disruptions.shift();
      happening = happening.then(event).catch((error) => {
        failure ??= error;
      });
    }
  };

  for (let writer = 0; writer < options.writers; writer++) begin();
  while (running.size > 0) {
    await Promise.race([...running.values()]);
    await happening;
    if (failure !== undefined) break;
  }
  for (const child of running.keys()) child.kill('SIGKILL');
  await Promise.all(running.values());
  if (failure !== undefined) throw failure;
  if (due.length > 0) throw new Error(`${due.length} disruptions were left when all turns were written.`);
  return history;
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    // Not `exit`: what the process has sent may still be under way.
    child.once('close', resolve);
    child.once('error', () => resolve(null));
  });
}

function shuffled<T>(random: (bound: number) => number, values: readonly T[]): T[] {
  const left = [...values];
  return values.flatMap(() => left.splice(random(left.length), 1));
}
