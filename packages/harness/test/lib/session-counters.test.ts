import { InMemorySession, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { budget, HarnessAgent, spendingOf } from '../../src/index.js';
import { scratch } from '../support.js';

it.each([{ tokens: 'many', cost: null }, null, 'none'])(
  'counts anew where a session has %j instead of numbers, so that its budget still holds',
  async (counters) => {
    const context = RuntimeContext.of({ sessionId: 's' });
    const usage = { inputTokens: 100, outputTokens: 10 };
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([1, 2, 3].map(() => ({ text: 'Hi', usage }))))
      .workspace(scratch())
      .session(new InMemorySession())
      .use(budget({ maxTokensPerSession: 200 }))
      .build();
    await agent.updateState(context, ({ extensions }) => {
      extensions.budget = { counters };
      extensions.compaction = { counters };
    });
    const replies = [];
    for (const input of ['a', 'b', 'c']) replies.push((await agent.call(input, context)).stopReason);
    expect(replies).toEqual(['completed', 'completed', 'budget_exceeded']);
    expect(spendingOf((await agent.state(context)) as never)).toEqual({ tokens: 220, cost: 0 });
  },
);
