import { expect, it } from 'vitest';
import { estimateCounter } from '../../src/index.js';
import { ContextMeter } from '../../src/tokens/context-meter.js';
import { numbered } from '../numbered.js';

it('gives only what was added since the last measurement, and all of a conversation that was rewritten', () => {
  const meter = new ContextMeter(estimateCounter);
  const context = numbered(5);
  expect(meter.unseen(context)).toEqual(context);
  meter.conversation(context);
  expect(meter.unseen(context)).toEqual([]);
  const added = numbered(2, 'n');
  expect(meter.unseen([...context, ...added])).toEqual(added);
  expect(meter.unseen(context.slice(3))).toEqual(context.slice(3));
});
