// Says facts in a session of its own and in one that all processes share, and flushes both after each.
import { SessionKey, userMessage } from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { factTaker } from '../support/models.js';
import { flusherOf } from '../support/parts.js';

const [root = '', name = '', count = '0'] = process.argv.slice(2);
const workspace = new LocalWorkspace(root);
const flusher = flusherOf({ workspace, model: factTaker() });
const sessions = [name, 'shared'].map((sessionId) => SessionKey.of({ userId: 'alice', sessionId }));

for (let number = 0; number < Number(count); number++) {
  for (const [index, session] of sessions.entries()) {
    const fact = `fact-${name}${index}${String(number).padStart(2, '0')}`;
    await new WorkspaceSessionLog(workspace, session).append([userMessage(fact)]);
    process.stdout.write(`${fact}\n`);
    await flusher.flush(session);
  }
}
