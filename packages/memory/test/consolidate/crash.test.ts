import type { Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { describe, expect, it } from 'vitest';
import { MemoryService } from '../../src/index.js';
import { Crashed, CrashingWorkspace } from '../support/crashing-workspace.js';
import { merger } from '../support/models.js';
import { consolidatorOf } from '../support/parts.js';
import { previousOf, readOnly, type TestWorkspace, testWorkspace } from '../support/test-context.js';

const scope = { userId: 'alice', agentId: 'coder' };
const prefix = 'users/alice/agents/coder/';
const FACTS = ['fact-0', 'fact-1', 'fact-2', 'fact-3', 'fact-4'];

/** Small rounds, so that one consolidation replaces the file several times. */
const consolidateIn = (workspace: Workspace) =>
  consolidatorOf({ workspace, model: { ...merger(), contextWindow: 45 } }).consolidate(scope);

async function prepare() {
  const workspace = await testWorkspace();
  await workspace.write(`${prefix}MEMORY.md`, '# Memory\n- known: fact-0\n');
  const line = (fact: string) => `- It was said that ${fact}\n`;
  await workspace.write(`${prefix}memory/2026-01-01.md`, `${line('fact-1')}${line('fact-2')}`);
  await workspace.write(`${prefix}memory/2026-01-02.md`, `${line('fact-3')}${line('fact-4')}- torn: fact-5`);
  return workspace;
}

async function factsIn(workspace: TestWorkspace): Promise<string[]> {
  const text = Buffer.from(await workspace.read(`${prefix}MEMORY.md`)).toString('utf8');
  return (text.match(/fact-\d+/g) ?? []).sort();
}

describe('a crash while consolidating', () => {
  it('loses no bullet and doubles none, at whichever moment it comes', async () => {
    const whole = new CrashingWorkspace(await prepare());
    expect(await consolidateIn(whole)).toEqual({ status: 'consolidated', lines: 4 });
    expect(whole.crashes().length).toBeGreaterThan(12);
    for (const crash of whole.crashes()) {
      const workspace = await prepare();
      await expect(consolidateIn(new CrashingWorkspace(workspace, crash))).rejects.toThrow(Crashed);
      // Who may only read sees whole facts as well, and whose they are.
      const reader = new MemoryService({ workspace: readOnly(workspace), maintenance: false });
      const seen = await reader.facts(scope);
      await reader.close();
      expect(seen.map(({ author }) => author)).toEqual(['person', ...seen.slice(1).map(() => 'model')]);
      await consolidateIn(new LocalWorkspace(workspace.root));
      expect(await factsIn(workspace), JSON.stringify(crash)).toEqual(FACTS);
      expect((await consolidateIn(workspace)).status).toBe('nothing');
    }
  });

  it('loses nothing either when somebody adds to MEMORY.md before the next run', async () => {
    const whole = new CrashingWorkspace(await prepare());
    await consolidateIn(whole);
    for (const crash of whole.crashes()) {
      const workspace = await prepare();
      await expect(consolidateIn(new CrashingWorkspace(workspace, crash))).rejects.toThrow(Crashed);
      await workspace.append(`${prefix}MEMORY.md`, '- by hand: fact-9\n');
      await consolidateIn(workspace);
      expect(await factsIn(workspace), JSON.stringify(crash)).toEqual([...FACTS, 'fact-9']);
    }
  });

  it('leaves a file to go back to at every moment', async () => {
    const whole = new CrashingWorkspace(await prepare());
    await consolidateIn(whole);
    for (const crash of whole.crashes()) {
      const workspace = await prepare();
      await expect(consolidateIn(new CrashingWorkspace(workspace, crash))).rejects.toThrow(Crashed);
      await consolidatorOf({ workspace, model: merger() }).consolidate(scope);
      const facts = await factsIn(workspace);
      await workspace.write(`${prefix}MEMORY.md`, await workspace.read(previousOf(prefix)));
      const earlier = await factsIn(workspace);
      expect(earlier, JSON.stringify(crash)).toContain('fact-0');
      expect(earlier.length).toBeLessThan(facts.length);
      expect(facts).toEqual(expect.arrayContaining(earlier));
    }
  });
});
