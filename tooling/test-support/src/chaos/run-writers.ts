import type { ChildProcess } from 'node:child_process';
import type { SessionStore } from '@x/core';
import { randomNumbers } from '../../../../packages/testkit/src/random-numbers.js';
import { type TurnEvent, type TurnPlan, turnKey } from './write-turns.js';

export interface RunWritersOptions extends Omit<TurnPlan, 'writer'> {
  /** Starts a process with an IPC channel (`fork`) that calls {@link writeTurns} with this plan and ends. */
  start(plan: TurnPlan): ChildProcess;
  /** Number of processes that run concurrently. */
  readonly writers: number;
  /** Number of times that a process is killed (SIGKILL) and replaced by another one. */
  readonly kills: number;
  /** Disruptions of the backend during the run, in this order. */
  readonly disruptions?: readonly (() => Promise<unknown>)[] | undefined;
}

/**
 * Starts processes that write to the same sessions, kills some of them, and disrupts the backend. The seed decides after how
 * many turns this happens. Returns the events that the processes reported.
 *
 * @throws {Error} if a process fails without being killed, or if all turns are written before all kills and disruptions.
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
  // All events happen within the first three quarters of the turns, so that writing continues after them.
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
  if (due.length > 0)
    throw new Error(
      `All turns were written before ${due.length} of the kills and disruptions. Increase the number of turns.`,
    );
  return history;
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    // Use `close`, not `exit`: messages of the process may arrive after `exit`.
    child.once('close', resolve);
    child.once('error', () => resolve(null));
  });
}

function shuffled<T>(random: (bound: number) => number, values: readonly T[]): T[] {
  const left = [...values];
  return values.flatMap(() => left.splice(random(left.length), 1));
}

/**
 * Compares the history of {@link runWriters} with the stored sessions, as Jepsen does. Checks that every session is complete and has each of
 * its turns once, that acknowledged turns are stored at their version, and that rejected turns are not stored. Every load must include all
 * turns that were acknowledged before it, and only turns that are stored. A turn must follow all turns that were acknowledged before it
 * began. A turn with an unknown outcome may be stored or not.
 *
 * @throws {Error} with every violation.
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

/** Finds contradictions between the events of a session, in chronological order, and the stored turns. */
function* faults(events: readonly TurnEvent[], found: readonly string[]): Generator<string> {
  /** The largest acknowledged version so far. */
  let acknowledged = 0;
  /** The largest acknowledged version at the beginning of each turn, by the id of the turn. */
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
