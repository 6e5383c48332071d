import { JsonSession } from '@x/core/node';
import { it } from 'vitest';
import { temporaryDirectories } from '../../../../packages/testkit/test/store-suite/temporary-directories.js';
import { checkPausedHolder, checkTurns, runWriters } from '../../src/index.js';
import { writerOf } from '../../src/servers.js';

const program = new URL('../children/write-turns.ts', import.meta.url);
const directories = temporaryDirectories();
const size = { sessions: 4, turns: 10 };

it('writers to files that are killed, or stopped for longer than a lease, lose and double no turn', async () => {
  const directory = await directories.next();
  const store = new JsonSession({ directory });
  const start = writerOf(program, directory);
  const history = await runWriters({ ...size, seed: 5, writers: 3, kills: 2, start });
  await checkTurns(store, size, history);
  await checkPausedHolder(store, start);
});
