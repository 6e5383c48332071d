import { compaction } from '@x/compaction';
import { ContextOverflowError, defineTool, type Message, RuntimeContext, textOf, toolUsesOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { collect, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const ROUNDS = 12;

/** Twelve rounds of work, then an overflow that only a smaller request gets past. */
function overflowing(overflows: number) {
  const runs: number[] = [];
  const model = new ScriptedModel(
    [
      ...Array.from({ length: ROUNDS }, (_, at) => ({ toolCalls: [{ name: 'look', input: { at } }] })),
      ...Array.from({ length: overflows }, () => ({ error: new ContextOverflowError() })),
      { text: 'done' },
    ],
    { contextWindow: 1_000_000 },
  );
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    readOnly: true,
    input: z.object({ at: z.number() }),
    execute: ({ at }) => {
      runs.push(at);
      return `${at}: ${'word '.repeat(300)}`;
    },
  });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .tools(look)
    .use(compaction({ model: null, keep: { messages: 4 } }))
    .build();
  return { agent, model, runs };
}

const asked = (messages: readonly Message[]) =>
  messages.filter((message) => message.role === 'user' && textOf(message) === 'Look at it').length;

describe('an overflow that the estimate did not foresee', () => {
  const ways = {
    call: (agent: HarnessAgent) => agent.call('Look at it', context).then((reply) => reply.text),
    stream: async (agent: HarnessAgent) => {
      const events = await collect(agent.stream('Look at it', context));
      expect(events.filter((event) => event.type === 'context.compacted')).toMatchObject([
        { reason: 'request_too_large', status: 'applied' },
      ]);
      return textOf(
        events.flatMap((event) => (event.type === 'model.completed' ? [event.message] : [])).at(-1) ?? [],
      );
    },
  };

  for (const [name, run] of Object.entries(ways)) {
    it(`is recovered from on ${name}: the same request again, smaller; no tool twice, no input twice`, async () => {
      const { agent, model, runs } = overflowing(1);
      expect(await run(agent)).toBe('done');
      model.assertComplete();
      expect(runs).toEqual(Array.from({ length: ROUNDS }, (_, at) => at));
      const [refused, accepted] = model.requests.slice(-2);
      expect(JSON.stringify(accepted?.messages).length).toBeLessThan(
        JSON.stringify(refused?.messages).length,
      );
      expect(asked(accepted?.messages ?? [])).toBe(1);
      expect(isPaired(accepted?.messages ?? [])).toBe(true);
      const state = await agent.state(context);
      expect(asked(state?.context ?? [])).toBe(1);
    });
  }

  it('is passed on when a smaller request does not fit either, and nothing is lost', async () => {
    const { agent, model } = overflowing(2);
    await expect(agent.call('Look at it', context)).rejects.toThrow(ContextOverflowError);
    expect(model.requests).toHaveLength(ROUNDS + 2);
    const logged: Message[] = [];
    for await (const message of agent.log(context).read()) logged.push(message);
    expect(asked(logged)).toBe(1);
    expect(logged.flatMap(toolUsesOf)).toHaveLength(ROUNDS);
    expect(isPaired((await agent.state(context))?.context ?? [])).toBe(true);
  });
});
