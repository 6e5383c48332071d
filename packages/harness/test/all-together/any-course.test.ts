import { InMemorySession, type Message, RuntimeContext, textOf, toolUsesOf } from '@x/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isPaired, scratch } from '../support.js';
import { everything, furnish, purse } from './everything.js';
import { expectSound, takenBy } from './expectations.js';
import { entries, fillers, ROUNDS_OF } from './rounds.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });
const POOL = entries(Object.values(ROUNDS_OF).flat());
const LOOKS = entries(fillers(30));

type Course = readonly (
  | {
      readonly type: 'call';
      readonly rounds: readonly number[];
      readonly pays: boolean;
      readonly stopAt: number;
    }
  | { readonly type: 'compact' }
  | { readonly type: 'undo' }
  | { readonly type: 'restart' }
)[];
const courses: fc.Arbitrary<Course> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant('call' as const),
        rounds: fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 12 }),
        pays: fc.boolean(),
        /** The round in which the user interrupts, if there is such a round. */
        stopAt: fc.nat({ max: 40 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constantFrom('compact', 'undo', 'restart'),
      }),
    },
  ),
  { minLength: 3, maxLength: 10 },
);

it('whatever course a session takes, every request is sound and nothing is lost', {
  timeout: 300_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(courses, async (course) => {
      const directory = scratch();
      furnish(directory);
      const session = new InMemorySession();
      const { pay, paid } = purse();
      let plan: { rounds: number[]; pays: boolean; stopAt: number } = { rounds: [], pays: false, stopAt: 99 };
      let taken = 0;
      let amount = 0;
      let used = 0;
      const said: Message[] = [];
      const start = () =>
        everything({
          directory,
          session,
          pay,
          onEvent: (event) => {
            if (event.type === 'message.added') said.push(event.message);
          },
          script: [
            {
              when: () => true,
              times: Number.POSITIVE_INFINITY,
              reply: (request) => {
                if (taken++ === plan.stopAt) agent.interrupt(context);
                const round = plan.rounds.shift();
                if (round !== undefined) {
                  const list = round % 2 === 0 ? POOL : LOOKS;
                  const { toolCalls = [] } = list[round % list.length]?.(request) ?? {};
                  // Ids are never used again, as with providers, also not by the next process.
                  return { toolCalls: toolCalls.map((use) => ({ ...use, id: `use-${++used}` })) };
                }
                if (!plan.pays) return { text: 'done' };
                plan.pays = false;
                return { toolCalls: [{ id: `pay-${++amount}`, name: 'pay', input: { amount } }] };
              },
            },
          ],
        });
      let { agent, ...seen } = await start();
      const undoes = course.some(({ type }) => type === 'undo');
      const check = () => {
        const { contextWindow, requests } = seen.model;
        expectSound({ contextWindow, requests: undoes ? takenBy(seen.model) : requests }, seen.compactions);
      };
      for (const step of course) {
        if (step.type === 'restart') {
          check();
          await agent.close();
          ({ agent, ...seen } = await start());
        } else if (step.type === 'compact') await agent.compact(context);
        else if (step.type === 'undo') await agent.undo(context);
        else {
          taken = 0;
          plan = { rounds: [...step.rounds], pays: step.pays, stopAt: step.stopAt };
          let reply = await agent.call(`Go on, ${said.length}`, context);
          while (reply.stopReason === 'permission_required') {
            const decisions = Object.fromEntries(
              reply.pendingCalls.map(({ approvalId }) => [approvalId, { type: 'approve' } as const]),
            );
            reply = await agent.resume(context, { decisions });
          }
          expect(['completed', 'interrupted']).toContain(reply.stopReason);
          const state = await agent.state(context);
          expect(isPaired(state?.context ?? [])).toBe(true);
          expect(state?.context.some(({ kind }) => kind === 'synthetic')).toBe(false);
        }
      }
      check();
      await agent.close();
      expect(new Set(paid).size).toBe(paid.length);
      const logged = new Map<string, Message>();
      for await (const message of agent.log(context).read()) logged.set(message.id, message);
      for (const message of said) expect(logged.get(message.id)).toEqual(message);
      const asked = said.flatMap(toolUsesOf).map(({ id }) => id);
      expect(new Set(asked).size).toBe(asked.length);
      const requests = said.filter(({ role }) => role === 'user').map(textOf);
      const calls = course.filter(({ type }) => type === 'call').length;
      expect(requests).toHaveLength(calls);
    }),
    { numRuns: 5 },
  );
});
