// Adds turns to one session, retrying after conflicts, and prints each version that it committed.

import { SessionConflictError, SessionKey } from '../../src/index.js';
import { JsonSession } from '../../src/node.js';
import { commitAt } from '../commit-at.js';
import { numbered } from '../numbered.js';

const [directory = '', writer = '', turns = '0'] = process.argv.slice(2);
const store = new JsonSession({ directory });
const key = SessionKey.of({ userId: 'u', sessionId: 's' });

for (let turn = 0; turn < Number(turns); ) {
  const stored = await store.load(key);
  try {
    const version = await commitAt(store, key, {
      expectedVersion: stored?.version ?? 0,
      head: { writer },
      keep: stored?.messages.length ?? 0,
      append: numbered(1, `${writer}-${turn}-`),
    });
    console.log(version);
    turn++;
  } catch (error) {
    if (!SessionConflictError.isInstance(error)) throw error;
  }
}
