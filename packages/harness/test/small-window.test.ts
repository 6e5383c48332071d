import { compaction, toolResultEviction } from '@x/compaction';
import { defineTool, estimateCounter, RuntimeContext, textOf } from '@x/core';
import { countRequest } from '@x/core/messages';
import { ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, todoList } from '../src/index.js';
import { collect, isPaired, scratch } from './support.js';

const WINDOW = 8_000;
const ROUNDS = 60;
const context = RuntimeContext.of({ sessionId: 's' });

/** An agent that makes tool calls round after round, in a window far too small for all of them. */
function busyAgent(sizes: readonly number[]) {
  let round = 0;
  const model = new ScriptedModel(
    [
      ...sizes.map((size, index) => () => {
        round = index;
        const again = index % 7 === 6 ? [{ name: 'look', input: { size: 40 } }] : [];
        return { text: `Round ${index}`, toolCalls: [{ name: 'look', input: { size } }, ...again] };
      }),
      { text: 'all done' },
    ],
    { contextWindow: WINDOW, enforceWindow: { counter: estimateCounter } },
  );
  const look = defineTool({
    name: 'look',
    description: 'Looks at something',
    readOnly: true,
    input: z.object({ size: z.number() }),
    execute: ({ size }) => `round ${round}: ${'word '.repeat(size)}`,
  });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .tools(look)
    .checkpoint('step')
    .maxIterations(sizes.length + 1)
    .use(
      compaction({
        model: null,
        keep: { tokens: 1_500 },
        counter: estimateCounter,
      }),
      toolResultEviction({ maxResultChars: 12_000, previewChars: 500 }),
      todoList(),
    )
    .build();
  return { agent, model };
}

describe(`${ROUNDS} tool rounds through a window of ${WINDOW} tokens`, () => {
  it('never sends a request above it, with every call paired with its result', async () => {
    const { agent, model } = busyAgent(
      Array.from({ length: ROUNDS }, (_, index) => 100 + ((index * 137) % 700)),
    );
    const events = await collect(agent.stream('Look at everything, sixty times', context));
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'completed' });
    model.assertComplete();
    expect(model.requests).toHaveLength(ROUNDS + 1);
    for (const request of model.requests) {
      expect(countRequest(estimateCounter, request)).toBeLessThanOrEqual(WINDOW);
      expect(isPaired(request.messages)).toBe(true);
      // The task itself is never compacted away.
      expect(request.messages.some((message) => textOf(message) === 'Look at everything, sixty times')).toBe(
        true,
      );
    }
    const applied = events.filter(
      (event) => event.type === 'context.compacted' && event.status === 'applied',
    );
    expect(applied.length).toBeGreaterThanOrEqual(2);
  });

  it('keeps every message that was ever there in the log', async () => {
    const { agent } = busyAgent(Array.from({ length: 30 }, () => 400));
    const added = (await collect(agent.stream('go', context))).flatMap((event) =>
      event.type === 'message.added' ? [event.message] : [],
    );
    const logged = new Map<string, unknown>();
    for await (const message of agent.log(context).read()) logged.set(message.id, message);
    for (const message of added) expect(logged.get(message.id)).toEqual(message);
  });

  it('holds whatever the tools return', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 1, maxLength: 25 }),
        async (sizes) => {
          const { agent, model } = busyAgent(sizes);
          const reply = await agent.call('Look', context);
          expect(reply.text).toBe('all done');
          for (const request of model.requests) {
            expect(countRequest(estimateCounter, request)).toBeLessThanOrEqual(WINDOW);
            expect(isPaired(request.messages)).toBe(true);
          }
        },
      ),
      { numRuns: 12 },
    );
  });
});
