import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentMap } from '../src/recent-map.js';

describe('RecentMap', () => {
  it('remembers the last entries that were used, and forgets in time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.nat({ max: 20 }), { maxLength: 60 }),
        (size, uses) => {
          const map = new RecentMap<number>(size);
          let used: number[] = [];
          for (const use of uses) {
            if (map.get(`${use}`) === undefined) map.set(`${use}`, use);
            used = [use, ...used.filter((other) => other !== use)];
          }
          for (const use of used.slice(0, size)) expect(map.get(`${use}`)).toBe(use);
        },
      ),
    );
    const map = new RecentMap<number>(2);
    for (let key = 0; key < 10; key++) map.set(`${key}`, key);
    expect([0, 1, 2, 3, 4, 5].map((key) => map.get(`${key}`))).toEqual(Array(6).fill(undefined));
  });
});
