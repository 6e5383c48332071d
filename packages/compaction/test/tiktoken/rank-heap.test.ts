import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RankHeap } from '../../src/tiktoken/merge.js';

it('yields what was pushed in ascending order', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat(), { size: 'large' }), (items) => {
      const heap = new RankHeap();
      for (const item of items) heap.push(item);
      expect(items.map(() => heap.pop())).toEqual(items.toSorted((left, right) => left - right));
      expect(heap.size).toBe(0);
    }),
  );
});

it('yields the least at any time, while pushes and pops alternate', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat({ max: 20 }))), (steps) => {
      const heap = new RankHeap();
      let model: number[] = [];
      for (const step of steps) {
        if (step !== null) {
          heap.push(step);
          model = [...model, step].toSorted((left, right) => left - right);
        } else if (model.length > 0) {
          expect(heap.pop()).toBe(model.shift());
        }
        expect(heap.size).toBe(model.length);
      }
    }),
  );
});
