import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_RANK, parseRanks } from '../../src/tiktoken/rank-table.js';
import { rankData, table } from './reference.js';

describe('the ranks', () => {
  const tokens = rankData.bpe_ranks
    .split(' ')
    .slice(2)
    .map((token) => Buffer.from(token, 'base64'));

  it('are read as a general base64 decoder reads them', () => {
    const { bytes, ends } = parseRanks(rankData.bpe_ranks);
    expect(Buffer.concat(tokens).equals(bytes)).toBe(true);
    let end = 0;
    expect([...ends]).toEqual(
      tokens.map((token) => {
        end += token.length;
        return end;
      }),
    );
  });

  it('are found for every token, and for nothing else', () => {
    const ranks = new Map(tokens.map((token, rank) => [token.toString('latin1'), rank]));
    expect(tokens.map((token) => table.find(token, 0, token.length))).toEqual(tokens.map((_, rank) => rank));
    fc.assert(
      fc.property(fc.nat({ max: tokens.length - 1 }), fc.uint8Array({ maxLength: 3 }), (rank, suffix) => {
        const source = Buffer.concat([tokens[rank] ?? Buffer.alloc(0), suffix]);
        expect(table.find(source, 0, source.length)).toBe(ranks.get(source.toString('latin1')) ?? NO_RANK);
      }),
      { numRuns: 5_000 },
    );
  });

  it('are found for every pair of bytes', () => {
    const differing: number[] = [];
    for (let pair = 0; pair < 0x10000; pair++) {
      const source = new Uint8Array([pair >> 8, pair & 0xff]);
      if (table.findPair(source, 0) !== table.find(source, 0, 2)) differing.push(pair);
    }
    expect(differing).toEqual([]);
  });
});

describe('parseRanks', () => {
  const read = (text: string) => {
    const { bytes, ends } = parseRanks(text);
    return [...ends].map((end, index) =>
      Buffer.from(bytes.subarray(ends[index - 1] ?? 0, end)).toString('latin1'),
    );
  };

  it('reads several lines, whose ranks may leave gaps', () => {
    expect(read('! 0 YQ== YWI=\n! 7 YWJj YWJjZA==\n')).toEqual(['a', 'ab', 'abc', 'abcd']);
  });

  it('refuses ranks that do not ascend', () => {
    expect(() => parseRanks('! 3 YQ== YWI=\n! 4 YWJj')).toThrow(RangeError);
    expect(() => parseRanks('nonsense')).toThrow(RangeError);
  });
});
