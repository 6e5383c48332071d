import { InMemorySession, RuntimeContext } from '@x/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scratch } from '../support.js';
import { everything, furnish, makers } from './everything.js';
import { expectSound, expectSticky } from './expectations.js';
import { entries, failuresIn, fillers, interleave, ROUNDS_OF } from './rounds.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });
const NAMES = Object.keys(makers);

it('any capabilities fit together, in whatever order they are installed', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(NAMES, { minLength: 4 }),
      fc.nat({ max: 20 }),
      async (names, place) => {
        const directory = scratch();
        furnish(directory);
        const order = names.toSpliced(place % (names.length + 1), 0, 'compaction');
        const rounds = Object.entries(ROUNDS_OF).flatMap(([name, its]) => (names.includes(name) ? its : []));
        const { agent, model, compactions, events } = await everything({
          directory,
          session: new InMemorySession(),
          order,
          script: [...entries(interleave(rounds, 100)), ...entries(fillers(15, 300)), { text: 'done' }],
        });
        expect(await agent.call('Do it', context)).toMatchObject({ stopReason: 'completed', text: 'done' });
        await agent.close();
        model.assertComplete();
        expect(compactions.length).toBeGreaterThanOrEqual(1);
        expectSound(model, compactions);
        expectSticky(model.requests, compactions);
        expect(failuresIn(model.requests)).toEqual([]);
        // Rules about the tools of parts that are left out do nothing, and that is said.
        const complaints = events.filter(
          (event) =>
            event.type === 'memory.failed' ||
            (event.type === 'warning' && !/no tool is named/.test(event.message)),
        );
        // What was put into a file needs a tool that reads files.
        const isBlind = names.includes('eviction') && !names.includes('workspaceTools');
        expect(complaints.map((event) => 'source' in event && event.source)).toEqual(
          isBlind ? ['tool_result_eviction'] : [],
        );

        // What was said is in the log, whole, and what is in the context is in the log.
        const logged = new Map<string, string>();
        for await (const message of agent.log(context).read())
          logged.set(message.id, JSON.stringify(message));
        for (const event of events) {
          if (event.type !== 'message.added') continue;
          expect(logged.get(event.message.id)).toBe(JSON.stringify(event.message));
        }
      },
    ),
    { numRuns: 6 },
  );
});
