import { assistantMessage, type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { SessionRecall } from '../../src/recall/session-recall.js';
import { lines, meter, round, rounds } from '../build.js';
import { scopeOf } from '../scope.js';

/** A session whose older part is summarized, with a new question. */
async function session(behind: readonly Message[] = []) {
  const removed = [
    userMessage('Look at the shop'),
    ...round({ name: 'look_up', output: `The velvet sofa costs 8713 crowns.\n${lines(300)}` }),
    ...rounds(20, () => ({ output: lines(200) })),
  ];
  const compactor = createCompactor({ model: null, contextWindow: 8_000, summary: { record: 0.05 } });
  const { messages } = await compactor.compact(removed);
  const question = userMessage('What does the velvet sofa cost?');
  const scope = scopeOf([...messages, question, ...behind]);
  await scope.log.append([...removed, question, ...behind]);
  return scope;
}

describe('the reminder of a session', () => {
  it('stands in every request until a model has answered, and fits a small free window', async () => {
    const scope = await session();
    const recall = new SessionRecall(undefined);
    const first = await recall.remind(scope, meter, () => 1_500);
    expect(textOf(first as Message)).toContain('The velvet sofa costs 8713 crowns.');
    expect(meter.message(first as Message)).toBeLessThanOrEqual(300);
    expect(await recall.remind(scope, meter, () => 1_500)).toBe(first);
    scope.state.contextMutable().push(assistantMessage('8713 crowns.'));
    expect(await recall.remind(scope, meter, () => 1_500)).toBeUndefined();
  });

  it('does not appear when a waiting call resumes in another process', async () => {
    const [call, result] = round({ name: 'buy', input: { what: 'sofa' } });
    const scope = await session([call, result]);
    expect(await new SessionRecall(undefined).remind(scope, meter, () => 1_500)).toBeUndefined();
  });
});
