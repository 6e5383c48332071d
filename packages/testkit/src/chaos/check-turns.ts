import type { SessionStore } from '@x/core';
import { type TurnEvent, type TurnPlan, turnKey } from './write-turns.js';

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
