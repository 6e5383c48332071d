import { expect, it } from 'vitest';
import { UncountedUsage } from '../../../src/capabilities/subagents/uncounted-usage.js';

it('usage is kept, however many other sessions are called', () => {
  const uncounted = new UncountedUsage();
  const used = { taskId: 'worker-1', modelId: 'm', usage: { inputTokens: 7, outputTokens: 1 } };
  for (let call = 0; call <= 1_000; call++) expect(uncounted.take(`session-${call}`)).toEqual([]);
  uncounted.add('session-0', used);
  expect(uncounted.take('session-0')).toEqual([used]);
  expect(uncounted.take('session-0')).toEqual([]);
});
