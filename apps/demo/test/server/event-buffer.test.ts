import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventBuffer } from '../../src/server/session-feed.js';

describe('EventBuffer', () => {
  it('gives everybody who comes back exactly what they missed, or says that it cannot', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.nat({ max: 60 }),
        fc.nat({ max: 60 }),
        (capacity, seen, missed) => {
          const buffer = new EventBuffer<number>('p', capacity);
          for (let index = 0; index < seen; index++) buffer.publish(index);
          const last = buffer.lastId;
          for (let index = 0; index < missed; index++) buffer.publish(seen + index);
          const told: unknown[] = [];
          buffer.subscribe(last, ({ event }) => told.push(event));
          buffer.publish(-1);

          const live = told.pop();
          expect(live).toBe(-1);
          if (missed <= capacity) expect(told).toEqual(Array.from({ length: missed }, (_, i) => seen + i));
          else if (told.length !== missed) expect(told).toEqual([{ type: 'reset' }]);
        },
      ),
    );
  });

  it('tells what comes, until its reader leaves', () => {
    const buffer = new EventBuffer<string>('p');
    buffer.publish('before');
    const told: unknown[] = [];
    const end = buffer.subscribe(buffer.lastId, ({ event }) => told.push(event));
    buffer.publish('after');
    end();
    buffer.publish('later');
    expect(told).toEqual(['after']);
  });

  it('holds a bounded number of events', () => {
    const buffer = new EventBuffer<number>('p', 10);
    const first = buffer.lastId;
    for (let index = 0; index < 1_000; index++) buffer.publish(index);
    const told: unknown[] = [];
    buffer.subscribe(first, ({ event }) => told.push(event));
    expect(told).toEqual([{ type: 'reset' }]);
  });

  it.each(['q-1', 'p-99', 'p--1', 'p-x', 'p', ''])('does not resume after “%s”', (id) => {
    const buffer = new EventBuffer<string>('p');
    buffer.publish('one');
    const told: unknown[] = [];
    buffer.subscribe(id, ({ event }) => told.push(event));
    expect(told).toEqual([{ type: 'reset' }]);
  });
});
