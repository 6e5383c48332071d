import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countLong, countShort, SHORT_PIECE } from '../../src/tiktoken/merge.js';
import { NO_RANK, type RankTable } from '../../src/tiktoken/rank-table.js';
import { table } from './reference.js';
import { anyText, families } from './texts.js';

/** Byte-pair encoding word for word: join the least-ranked neighbors, the leftmost first, until none can be joined. */
function countByDefinition(table: RankTable, bytes: Uint8Array): number {
  const cuts = Array.from({ length: bytes.length + 1 }, (_, index) => index);
  for (;;) {
    let least = NO_RANK;
    let at = -1;
    for (let index = 0; index + 2 < cuts.length; index++) {
      const rank = table.find(bytes, cuts[index] ?? 0, cuts[index + 2] ?? 0);
      if (rank < least) {
        least = rank;
        at = index;
      }
    }
    if (at === -1) return cuts.length - 1;
    cuts.splice(at + 1, 1);
  }
}

const encoder = new TextEncoder();

const piece = fc
  .oneof(
    anyText.map((text) => encoder.encode(text)),
    fc.uint8Array({ maxLength: SHORT_PIECE }),
    fc
      .array(fc.constantFrom(...'aehinrst'), { maxLength: 300 })
      .map((letters) => encoder.encode(letters.join(''))),
    fc.constantFrom(...Object.values(families)).map((family) => encoder.encode(family(60))),
  )
  .filter((bytes) => bytes.length > 0);

describe('merging', () => {
  it('leaves the tokens of the definition, for short pieces and for long ones', () => {
    fc.assert(
      fc.property(piece, fc.nat({ max: 3 }), (bytes, offset) => {
        const expected = countByDefinition(table, bytes);
        const source = new Uint8Array(offset + bytes.length + 2).fill(0x61);
        source.set(bytes, offset);
        expect(countLong(table, source, offset, offset + bytes.length)).toBe(expected);
        if (bytes.length > SHORT_PIECE) return;
        expect(countShort(table, source, offset, offset + bytes.length)).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is the same by both ways at the longest short piece', () => {
    for (const family of Object.values(families)) {
      const bytes = encoder.encode(family(SHORT_PIECE)).subarray(0, SHORT_PIECE);
      expect(countShort(table, bytes, 0, bytes.length)).toBe(countLong(table, bytes, 0, bytes.length));
    }
  });
});
