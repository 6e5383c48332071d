import { SessionKey, userMessage, type Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { describe, expect, it } from 'vitest';
import { Crashed, CrashingWorkspace } from '../support/crashing-workspace.js';
import { factTaker, withoutMarks } from '../support/models.js';
import { flusherOf } from '../support/parts.js';
import { logSession, type TestWorkspace, testWorkspace } from '../support/test-context.js';

const parts = { userId: 'alice', agentId: 'coder', sessionId: 's-1' };
const key = SessionKey.of(parts);
const FACTS = ['fact-1', 'fact-2', 'fact-3'];

/** Small batches, so that one flush makes several entries. */
const flushIn = (workspace: Workspace) =>
  flusherOf({ workspace, model: { ...factTaker(), contextWindow: 120 } }).flush(key);

async function prepare() {
  const workspace = await testWorkspace();
  const said = FACTS.map((fact) => userMessage(`Please keep in mind ${fact}, which matters to all of us.`));
  await logSession(workspace, parts, said);
  return workspace;
}

async function factsIn(workspace: TestWorkspace): Promise<string[]> {
  const found: string[] = [];
  for await (const { path } of workspace.list('users/alice/agents/coder/memory')) {
    if (!path.endsWith('.md')) continue;
    const text = Buffer.from(await workspace.read(path)).toString('utf8');
    const lines = text.split('\n').filter((line) => line.startsWith('- ') && !line.includes('cut off'));
    found.push(...lines.flatMap((line) => withoutMarks(line).match(/fact-\d+$/g) ?? []));
  }
  return found.sort();
}

describe('a crash while flushing', () => {
  it('loses no bullet and doubles none, at whichever moment it comes', async () => {
    const whole = new CrashingWorkspace(await prepare());
    await flushIn(whole);
    expect(whole.crashes().length).toBeGreaterThan(15);
    for (const crash of whole.crashes()) {
      const workspace = await prepare();
      await expect(flushIn(new CrashingWorkspace(workspace, crash))).rejects.toThrow(Crashed);
      await flushIn(new LocalWorkspace(workspace.root));
      expect(await factsIn(workspace), JSON.stringify(crash)).toEqual(FACTS);
      expect((await flushIn(workspace)).messages).toBe(0);
    }
  });

  it('survives one crash after the other', async () => {
    const workspace = await prepare();
    let crashes = 0;
    for (let change = 1; ; change++) {
      try {
        await flushIn(new CrashingWorkspace(workspace, { change, moment: 'during' }));
        break;
      } catch (error) {
        expect(error).toBeInstanceOf(Crashed);
        crashes++;
      }
    }
    expect(crashes).toBeGreaterThan(3);
    expect(await factsIn(workspace)).toEqual(FACTS);
  });
});
