import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TakenText } from '../../src/ledger/taken-text.js';

const piece = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'A', 'b', '_', '字', '\n'), maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);

describe('TakenText', () => {
  it('includes what the text includes, across what was added one by one', () => {
    fc.assert(
      fc.property(fc.array(piece), fc.array(piece), fc.nat(), fc.nat(), (pieces, others, from, length) => {
        const taken = new TakenText();
        for (const each of pieces) taken.add(each);
        const whole = pieces.join('');
        const start = from % (whole.length + 1);
        const part = whole.slice(start, start + (length % 12));
        expect(taken.includes(part)).toBe(true);
        for (const other of others) expect(taken.includes(other)).toBe(whole.includes(other));
      }),
    );
  });
});
