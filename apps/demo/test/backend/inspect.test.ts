import { estimateCounter, userMessage } from '@x/core';
import { expect, it } from 'vitest';
import { requestView } from '../../src/backend/inspect.js';

it('shows a summary that replaces another as one message, before and after', () => {
  const [first, second] = ['First', 'Second'].map((text, at) =>
    userMessage(text, { id: `summary-${at}`, kind: 'summary' }),
  );
  if (!first || !second) throw new Error('There are two.');
  const said = userMessage('Look around', { id: 'm1' });
  const compacted = requestView({ before: [first, said], messages: [second] }, estimateCounter);
  expect(compacted.messages).toMatchObject([{ change: 'added', text: 'Second', before: 'First' }]);
  expect(compacted.removed.map(({ id }) => id)).toEqual(['m1']);
  const undone = requestView({ before: [second], messages: [first, said] }, estimateCounter);
  expect(undone.messages).toMatchObject([
    { text: 'First', before: 'Second' },
    { id: 'm1', change: 'added' },
  ]);
  expect(undone.removed).toEqual([]);
});
