import { cp } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { expect, it } from 'vitest';
import { MemoryService } from '../../src/index.js';
import { CrashingWorkspace } from '../support/crashing-workspace.js';
import { ManualClock } from '../support/manual-clock.js';
import { merger } from '../support/models.js';
import { type TestWorkspace, testWorkspace } from '../support/test-context.js';

const clock = new ManualClock(Date.parse('2026-06-01T12:00:00Z'));

const run = (workspace: Workspace) =>
  new MemoryService({
    workspace,
    withoutUser: 'shared',
    clock,
    model: merger(),
  }).maintain();

async function prepare() {
  const workspace = await testWorkspace();
  await workspace.write('memory/2026-01-01.md', '- fact-1\n');
  await run(workspace);
  await run(workspace);
  // By now the note is in the archive. Another of that day comes late, and one of the next day.
  await workspace.write('memory/2026-01-01.md', '- fact-2\n');
  await workspace.write('memory/2026-01-02.md', '- fact-3\n');
  return workspace;
}

async function factsBelow(workspace: TestWorkspace, folder: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const { path } of workspace.list(folder, { recursive: true })) {
    // The previous MEMORY.md repeats it.
    if (path.endsWith('.md') && !path.endsWith('.previous.md'))
      texts.push(Buffer.from(await workspace.read(path)).toString('utf8'));
  }
  return (texts.join('').match(/fact-\d/g) ?? []).sort();
}

it('a crash of maintenance loses no note and doubles none, at whichever moment it comes', {
  timeout: 600_000,
}, async () => {
  const prepared = await prepare();
  const copy = async () => {
    const workspace = await testWorkspace();
    await cp(prepared.root, workspace.root, { recursive: true });
    return workspace;
  };
  const outside = ({ root }: TestWorkspace) => new LocalWorkspace(dirname(root));
  const whole = new CrashingWorkspace(outside(await copy()));
  await run(whole);
  await run(whole);
  expect(whole.crashes().length).toBeGreaterThan(10);
  for (const crash of whole.crashes()) {
    const workspace = await copy();
    const crashing = new CrashingWorkspace(outside(workspace), crash);
    // What fails in a pass is reported; only reading the workspace at its beginning throws.
    await run(crashing).catch(() => {});
    await run(crashing).catch(() => {});
    await run(outside(workspace));
    await run(outside(workspace));
    expect(await factsBelow(workspace, 'memory/archive'), JSON.stringify(crash)).toEqual([
      'fact-1',
      'fact-2',
      'fact-3',
    ]);
    expect(await factsBelow(workspace, 'memory')).toEqual(['fact-1', 'fact-2', 'fact-3']);
    const memory = Buffer.from(await workspace.read('MEMORY.md')).toString('utf8');
    expect(memory.match(/fact-\d/g)?.sort()).toEqual(['fact-1', 'fact-2', 'fact-3']);
  }
});
