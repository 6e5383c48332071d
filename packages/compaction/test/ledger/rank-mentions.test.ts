import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rankMentions } from '../../src/ledger/rank-mentions.js';

const mention = fc.record({
  token: fc.constantFrom('a_b', 'src/a.ts', 'a.ts', '#1234567', 'camelCase'),
  kind: fc.constantFrom('path' as const, 'identifier' as const, 'id' as const),
  weight: fc.integer({ min: 1, max: 4 }),
  at: fc.integer({ min: 0, max: 3 }),
});

describe('rankMentions', () => {
  it('answers the first ones of the whole order, those of equal worth as they came', () => {
    fc.assert(
      fc.property(fc.array(mention, { maxLength: 40 }), fc.nat({ max: 45 }), (mentions, most) => {
        expect(rankMentions(mentions, 4, most)).toEqual(rankMentions(mentions, 4).slice(0, most));
      }),
    );
  });
});
