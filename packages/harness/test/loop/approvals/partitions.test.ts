import { InMemorySession, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/index.js';
import { decided, isPaired, scratch } from '../../support.js';
import { type Effects, node, resultsIn } from './support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const DECISIONS: readonly Decision[] = [
  { type: 'approve' },
  { type: 'deny', reason: 'No.' },
  { type: 'edit', input: { what: 'edited' } },
];

const step = fc.array(
  fc.record({
    name: fc.constantFrom('look', 'pay', 'note'),
    decision: fc.constantFrom(...DECISIONS),
    /** In which round a human gets to it. */
    round: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 6 },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Has a step decided on in rounds, each in a process of its own; what was done, and what the model read in the end. */
async function decideInRounds(calls: Step, rounds: readonly number[], checkpoint: 'call' | 'step') {
  const effects: Effects = [];
  const shared = { session: new InMemorySession(), workspace: scratch(), effects, checkpoint };
  const toolCalls = calls.map(({ name }, index) => ({ id: `${index}`, name, input: { what: `${index}` } }));
  const models: ScriptedModel[] = [];
  let reply = await run([{ toolCalls }, { text: 'done' }], (agent) => agent.call('Go', context));
  for (const round of rounds) {
    const decisions = Object.fromEntries(
      calls.flatMap(({ name, decision, round: own }, index) =>
        name === 'pay' && own === round ? [[`${index}`, decision]] : [],
      ),
    );
    if (Object.keys(decisions).length === 0) continue;
    expect(reply.stopReason).toBe('permission_required');
    reply = await run([{ text: 'done' }], async (agent) =>
      agent.resume(context, { decisions: await decided(agent, context, decisions) }),
    );
  }
  expect(reply).toMatchObject({ stopReason: 'completed', text: 'done' });
  const last = models.at(-1) ?? new ScriptedModel([]);
  for (const { requests } of models) {
    for (const { messages } of requests) expect(isPaired(messages)).toBe(true);
  }
  return { effects, results: resultsIn(last) };

  async function run(
    script: Parameters<typeof node>[0]['script'],
    say: (agent: ReturnType<typeof node>['agent']) => ReturnType<ReturnType<typeof node>['agent']['call']>,
  ) {
    const { agent, model } = node({ ...shared, script });
    models.push(model);
    return say(agent);
  }
}

describe('decisions', () => {
  it('have the same effects and results in any order and partition, over any number of processes', async () => {
    await fc.assert(
      fc.asyncProperty(
        step,
        fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
        fc.constantFrom('call', 'step'),
        async (calls, rounds, checkpoint) => {
          const atOnce = await decideInRounds(
            calls.map((call) => ({ ...call, round: 0 })),
            [0],
            checkpoint,
          );
          const inRounds = await decideInRounds(calls, rounds, checkpoint);
          expect(inRounds).toEqual(atOnce);
          // In the order in which the model asked, each once at most.
          const run = calls.flatMap(({ name, decision }, index) => {
            if (name === 'pay' && decision.type === 'deny') return [];
            return [`${name} ${name === 'pay' && decision.type === 'edit' ? 'edited' : index}`];
          });
          expect(inRounds.effects).toEqual(run);
        },
      ),
      { numRuns: 60 },
    );
  });
});
