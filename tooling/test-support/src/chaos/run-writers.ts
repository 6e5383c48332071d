import type { ChildProcess } from 'node:child_process';
import type { SessionStore } from '@x/core';
import { randomNumbers } from '../../../../packages/testkit/src/random-numbers.js';
import { type TurnEvent, type TurnPlan, turnKey } from './write-turns.js';

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

/**
 * Checks the history of {@link runWriters} against what is stored, in the manner of Jepsen. Every session is whole and has its
 * turns, each once. A turn that was acknowledged is the one of its version, and one that was refused is not there. A load
 * saw what had been acknowledged before it, and nothing else than what is stored; a turn comes behind those that were acknowledged
 * before it began. A turn of which nobody heard may be there or not.
 *
 * @throws {Error} with everything that is wrong.
 */
export async function checkTurns(
  store: SessionStore,
  { sessions, turns }: Pick<TurnPlan, 'sessions' | 'turns'>,
  history: readonly TurnEvent[],
): Promise<void> {
  const wrong: string[] = [];
  const told = new Set(history.flatMap(({ type, id }) => (type === 'ok' ? [id] : []))).size;
  if (told <= (sessions * turns) / 2)
    wrong.push(`Only ${told} of ${sessions * turns} turns were acknowledged.`);
  const inTime = history.toSorted((left, right) => left.at - right.at);
  for (let session = 0; session < sessions; session++) {
    const key = turnKey(session);
    const { version, head, messages = [] } = (await store.load(key)) ?? {};
    const ids = messages.map(({ id }) => id);
    const found = ids.flatMap((id) => (id.endsWith('/question') ? [id.slice(0, -'/question'.length)] : []));
    const expected = found.flatMap((id) => [`${id}/question`, `${id}/answer`]);
    if (version !== turns || head?.turns !== turns || found.length !== turns) {
      wrong.push(`${key} has version ${version}, head ${JSON.stringify(head)} and ${found.length} turns.`);
    }
    if (ids.join() !== expected.join()) wrong.push(`${key} has parts of turns: ${ids.join(', ')}`);
    if (new Set(found).size !== found.length) wrong.push(`${key} has a turn twice: ${found.join(', ')}`);
    const events = inTime.filter((event) => event.session === `${key}`);
    for (const fault of faults(events, found)) wrong.push(`${key} ${fault}`);
  }
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

/** Finds what the events of a session, in the order of their time, say otherwise than what is stored. */
function* faults(events: readonly TurnEvent[], found: readonly string[]): Generator<string> {
  /** The largest version that was acknowledged, and that which was when a turn began. */
  let acknowledged = 0;
  const before = new Map<string, number>();
  for (const { id, type, version = 0, last } of events) {
    const at = found[version - 1];
    if (type === 'begin') {
      before.set(id, acknowledged);
      if (last === undefined) continue;
      if (version < acknowledged) yield `loaded version ${version} after ${acknowledged} was acknowledged.`;
      if (last !== (at ?? '')) yield `loaded turn ${last} at version ${version}, where it has ${at}.`;
    }
    if (type === 'fail' && found.includes(id)) yield `refused turn ${id}, and has it.`;
    if (type !== 'ok') continue;
    if (at !== id) yield `lacks turn ${id} at version ${version}, where it has ${at}.`;
    acknowledged = Math.max(acknowledged, version);
  }
  for (const [index, id] of found.entries()) {
    const earlier = before.get(id);
    if (earlier === undefined) yield `has turn ${id}, which nobody wrote.`;
    else if (index < earlier) yield `has turn ${id} at version ${index + 1}, and it began after ${earlier}.`;
  }
}
