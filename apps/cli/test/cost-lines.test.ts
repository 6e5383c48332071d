import type { AgentState } from '@x/core';
import type { KeptEvent } from '@x/harness/view';
import { expect, it } from 'vitest';
import { costLines } from '../src/session-events.js';

it('derives all savings from the same events, and says what each number counts', () => {
  const usage = { inputTokens: 4_000, outputTokens: 1_000 };
  const request = (total: number) => ({ type: 'model.started', context: { total } });
  const events = [
    request(20_000),
    { type: 'usage.reported', source: 'compaction', usage },
    { type: 'context.compacted', status: 'applied', tokensBefore: 20_000, tokensAfter: 5_000 },
    request(6_000),
    { type: 'context.restored', tokensBefore: 6_000, tokensAfter: 21_000 },
    request(22_000),
  ] as unknown as readonly KeptEvent[];
  // The events decide, also if the counters of the state say something else.
  const compaction = { counters: { ...usage, modelCalls: 1, savedTokens: 99_000, unpriced: 1 } };
  const state = {
    extensions: { compaction, budget: { counters: { tokens: 45_000 } } },
  } as unknown as AgentState;
  expect(costLines({ state, events })).toEqual([
    'Without compaction: 63k tokens in 3 requests. With compaction: 53k tokens.',
    'compaction: 1 model call of 5k tokens, saved 15k tokens, 10k after its own calls',
    'all model calls: 45k tokens, input and output as providers count them; the lines above estimate the input',
  ]);
});
