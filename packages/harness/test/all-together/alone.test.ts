import { InMemorySession, RuntimeContext } from '@x/core';
import { expect, it } from 'vitest';
import { scratch } from '../support.js';
import { everything, furnish, makers, untouchedOf } from './everything.js';
import { expectSound, expectSticky } from './expectations.js';
import { entries, failuresIn, fillers, interleave, ROUNDS_OF } from './rounds.js';

const WINDOW = 8_000;
const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });

/** What else a capability needs to have anything to do. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  agentsFiles: ['workspaceTools'],
  eviction: ['workspaceTools'],
  planMode: ['workspaceTools'],
};

/** What is done behind everything else, because little else can be done then. */
const AT_LAST: Readonly<Record<string, (typeof ROUNDS_OF)[string]>> = {
  planMode: [[['plan_enter', {}]], [['plan_write', { content: 'Look, then leap.' }]]],
};

it.each(Object.keys(makers))('%s works beside compaction alone', async (name) => {
  const directory = scratch();
  furnish(directory);
  const names = [name, ...(NEEDED[name] ?? [])];
  const rounds = names
    .flatMap((each) => ROUNDS_OF[each] ?? [])
    // What is in a group of tools that is not there.
    .filter((round) => round.every(([tool]) => tool !== 'tool_groups' || names.includes('toolGroups')));
  const { agent, model, compactions, events } = await everything({
    directory,
    session: new InMemorySession(),
    window: WINDOW,
    // What shortens single results comes before what counts them all.
    order: name === 'eviction' ? [...names, 'compaction'] : ['compaction', ...names],
    script: [
      ...entries(interleave([...rounds, ...(AT_LAST[name] ?? [])], 100)),
      ...entries(fillers(20)),
      { text: 'done' },
      ...entries(fillers(3, 200)),
      { text: 'done again' },
    ],
  });
  expect(await agent.call('Do it', context)).toMatchObject({ stopReason: 'completed', text: 'done' });
  const before = await agent.state(context);
  const outcome = await agent.compact(context);
  const compacted = await agent.state(context);
  expect(compacted && untouchedOf(compacted)).toBe(before && untouchedOf(before));
  if (outcome.status === 'applied') {
    expect(await agent.undo(context)).toBe(true);
    expect((await agent.state(context))?.context).toEqual(before?.context);
  }
  expect(await agent.call('Again', context)).toMatchObject({ text: 'done again' });
  await agent.close();

  model.assertComplete();
  expect(compactions.length).toBeGreaterThanOrEqual(2);
  expectSound(model, compactions);
  expect(failuresIn(model.requests)).toEqual([]);
  // Rules about the tools of parts that are left out here do nothing, and that is said.
  const unexpected = events.filter(
    (event) =>
      event.type === 'memory.failed' ||
      (event.type === 'warning' && !(name === 'permissions' && event.message.includes('no tool is named'))),
  );
  expect(unexpected).toEqual([]);
  expectSticky(model.requests, compactions);
});
