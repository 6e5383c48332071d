import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openSession, SessionKey, userMessage } from '../../../src/index.js';
import { takeTurn } from '../../../src/internal.js';
import { LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { type Child, printed, runChild } from '../../children/run-child.js';
import { temporaryDirectory } from '../../temporary-directory.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
/** Twice the time of the child after which others may take it for dead. */
const STILL_MS = 2_000;

async function printedLine(child: Child, line: RegExp, from: number): Promise<string> {
  for (let next = from; ; next++) {
    await printed(child, next + 1);
    const found = child.lines[next] ?? '';
    if (line.test(found)) return found;
  }
}

describe('the turn of a process that stands still for longer than its record lasts', () => {
  const begin = async () => {
    const directory = await temporaryDirectory();
    const child = runChild('hold-turn', directory, String(STILL_MS));
    await printedLine(child, /^begun$/, 0);
    return { child, store: new WorkspaceSession(new LocalWorkspace(directory)) };
  };
  const commit = (child: Child) => {
    const from = child.lines.length;
    child.process.stdin?.write('commit\n');
    return printedLine(child, /^(stored|[a-z]+_)/, from);
  };

  test('stays its own where nobody else took it', { timeout: 60_000 }, async () => {
    const { child } = await begin();
    child.process.kill('SIGSTOP');
    await sleep(STILL_MS);
    child.process.kill('SIGCONT');
    expect(await commit(child)).toBe('stored 1');
    expect(child.lines.filter((line) => line.startsWith('lost'))).toEqual([]);
  });

  test('stays its own where its loop is blocked, at once or in slices', { timeout: 60_000 }, async () => {
    const { child } = await begin();
    child.process.stdin?.write('block\n');
    await printedLine(child, /^unblocked$/, 0);
    expect(await commit(child)).toBe('stored 1');
    expect(child.lines.filter((line) => line.startsWith('lost'))).toEqual([]);
  });

  test('is another one’s who took it, and what the first has left to store is refused', {
    timeout: 60_000,
  }, async () => {
    const { child, store } = await begin();
    child.process.kill('SIGSTOP');
    const turn = await takeTurn(store, key);
    const session = await openSession(store, key, { fence: turn.fence });
    session.state.contextMutable().push(userMessage('of another', { id: 'another' }));
    await session.commit();
    const from = child.lines.length;
    child.process.kill('SIGCONT');
    expect(await printedLine(child, /^lost/, from)).toBe('lost lease_lost');
    expect(await commit(child)).toBe('lease_lost');
    await turn.release();
    expect((await store.load(key))?.messages.map(({ id }) => id)).toEqual(['another']);
  });
});
