import { type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/create-compactor.js';
import { lines, meter, round } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

/** A look-up whose answer holds facts that only the record can keep. */
function lookUp(index: number): readonly Message[] {
  const order = {
    order: `W${1_000 + index}`,
    item: `bookshelf ${index}`,
    price: 100 + index,
    status: 'delivered',
  };
  return round({ name: 'get_order', input: { order: order.order }, output: JSON.stringify(order) });
}

describe('the record in a small window', () => {
  it('holds what was looked up, beside new results that fill the window', async () => {
    const compactor = createCompactor({ model: null, contextWindow: 4_000 });
    const orders = Array.from({ length: 20 }, (_, index) => lookUp(index)).flat();
    const request = userMessage('Which of my orders can go back?');
    const unseen = round({
      name: 'search',
      input: { query: 'all' },
      output: lines(4_000),
    });
    const { messages } = await compactor.compact([request, ...orders, ...unseen], {
      reason: 'proactive_budget',
    });
    const summary = messages.find(({ kind }) => kind === 'summary');
    const held = Array.from({ length: 20 }, (_, index) => `bookshelf ${index}`).filter((item) =>
      textOf(summary as Message).includes(item),
    );
    expect(held.length).toBeGreaterThanOrEqual(10);
  });

  it('has what a short narrative and the newest messages leave of the target', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const orders = Array.from({ length: 60 }, (_, index) => lookUp(index)).flat();
    const request = userMessage('Which of my orders can go back?');
    const compactor = createCompactor({ model, contextWindow: 4_000 });
    const { messages } = await compactor.compact([request, ...orders]);
    expect(meter.messages(messages)).toBeGreaterThan(0.7 * 2_550);
    expect(meter.messages(messages)).toBeLessThanOrEqual(2_550);
  });

  it('leaves most of its room to a narrative that uses it', async () => {
    const rows = Array.from(
      { length: 118 },
      (_, index) => `W${1_000 + index}: bookshelf ${index}, delivered`,
    );
    const narrative = GOOD_SUMMARY.replace('src/login.ts', rows.join('\n'));
    expect(meter.text(narrative)).toBeGreaterThan(1_300);
    const model = modelOf(() => narrative);
    const orders = Array.from({ length: 60 }, (_, index) => lookUp(index)).flat();
    const compactor = createCompactor({ model, contextWindow: 4_000 });
    const { messages } = await compactor.compact([userMessage('Which of my orders can go back?'), ...orders]);
    expect(model.requests).toHaveLength(1);
    expect(textOf(messages.find(({ kind }) => kind === 'summary') as Message)).toContain(rows.join('\n'));
    expect(meter.messages(messages)).toBeLessThanOrEqual(2_550);
  });
});
