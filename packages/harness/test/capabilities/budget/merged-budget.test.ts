import { InMemorySession, RuntimeContext, type SessionStore } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { budget, HarnessAgent, spendingOf } from '../../../src/index.js';
import { scratch } from '../../support.js';

const context = RuntimeContext.of({ sessionId: 's' });

/** A store without leases: nothing keeps two processes from taking a turn at once. */
function withoutLease(store: SessionStore): SessionStore {
  return {
    reach: 'cluster',
    load: (key) => store.load(key),
    commit: (key, change) => store.commit(key, change),
    delete: (key) => store.delete(key),
    list: (scope) => store.list(scope),
    close: () => store.close(),
  };
}

it('counts for a session what all who write it at once have used up', { timeout: 60_000 }, async () => {
  const costs = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 4 });
  const directory = scratch();
  await fc.assert(
    fc.asyncProperty(fc.array(costs, { minLength: 2, maxLength: 3 }), async (writers) => {
      const store = withoutLease(new InMemorySession());
      const agents = writers.map((tokens) =>
        HarnessAgent.builder()
          .model(
            new ScriptedModel(
              tokens.map((inputTokens) => ({ text: 'ok', usage: { inputTokens, outputTokens: 0 } })),
            ),
          )
          .workspace(directory)
          .session(store)
          .onConflict('merge')
          .use(budget({ maxTokensPerSession: 1_000_000 }))
          .build(),
      );
      await Promise.all(
        agents.map(async (agent, index) => {
          for (const _ of writers[index] ?? []) await agent.call('Go', context);
        }),
      );
      const state = await agents[0]?.state(context);
      const spent = writers.flat().reduce((sum, tokens) => sum + tokens, 0);
      expect(state && spendingOf(state).tokens).toBe(spent);
    }),
    { numRuns: 30 },
  );
});
