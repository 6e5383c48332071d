import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countMerged } from '../../src/tiktoken/merge.js';
import { ranksIn } from '../../src/tiktoken/tiktoken-counter.js';
import { ranks } from './reference.js';
import { anyText, families } from './texts.js';

/** Byte-pair encoding word for word: join the least-ranked neighbors, the leftmost first, until none can be joined. */
function countByDefinition(bytes: string): number {
  const cuts = Array.from({ length: bytes.length + 1 }, (_, index) => index);
  for (;;) {
    let least = Number.POSITIVE_INFINITY;
    let at = -1;
    for (let index = 0; index + 2 < cuts.length; index++) {
      const rank = ranks.get(bytes.slice(cuts[index], cuts[index + 2])) ?? Number.POSITIVE_INFINITY;
      if (rank < least) {
        least = rank;
        at = index;
      }
    }
    if (at === -1) return cuts.length - 1;
    cuts.splice(at + 1, 1);
  }
}

const piece = fc
  .oneof(
    anyText,
    fc.uint8Array({ maxLength: 128 }),
    fc.array(fc.constantFrom(...'aehinrst'), { maxLength: 300 }).map((letters) => letters.join('')),
    fc.constantFrom(...Object.values(families)).map((family) => family(60)),
  )
  .map((bytes) => Buffer.from(bytes as string).toString('latin1'))
  .filter((bytes) => bytes.length > 0);

describe('merging', () => {
  it('leaves the tokens of the definition, for short pieces and for long ones', () => {
    fc.assert(
      fc.property(piece, (bytes) => {
        expect(countMerged(ranks, bytes)).toBe(countByDefinition(bytes));
      }),
      { numRuns: 1_000 },
    );
  });
});

it('reads ranks of several lines, which may leave gaps', () => {
  const read = ranksIn('! 0 YQ== YWI=\n! 7 YWJj YWJjZA==\n');
  expect([...read]).toEqual([
    ['a', 0],
    ['ab', 1],
    ['abc', 7],
    ['abcd', 8],
  ]);
});
