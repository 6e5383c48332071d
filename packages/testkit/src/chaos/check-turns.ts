import type { SessionStore } from '@x/core';
import { type AcknowledgedTurn, type TurnPlan, turnKey } from './write-turns.js';

/**
 * Checks what is stored after {@link runWriters}: every session is whole and has its turns, each once and in the order of
 * their versions, and every acknowledged turn is the one of its version.
 *
 * @throws {Error} with everything that is wrong.
 */
export async function checkTurns(
  store: SessionStore,
  { sessions, turns }: Pick<TurnPlan, 'sessions' | 'turns'>,
  acknowledged: readonly AcknowledgedTurn[],
): Promise<void> {
  const wrong: string[] = [];
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
    for (const turn of acknowledged) {
      if (turn.session !== `${key}` || found[turn.version - 1] === turn.id) continue;
      wrong.push(
        `${key} lacks turn ${turn.id} at version ${turn.version}, where it has ${found[turn.version - 1]}.`,
      );
    }
  }
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}
