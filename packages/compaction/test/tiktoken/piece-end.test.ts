import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pieceEnd } from '../../src/tiktoken/piece-end.js';
import { rankData } from './reference.js';
import { anyText, families } from './texts.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The pieces of `text`, while the bytes of `rest` lie behind it, as those of an earlier text do in a kept buffer. */
function split(text: string, rest = ''): string[] {
  const { length } = encoder.encode(text);
  const bytes = Buffer.concat([encoder.encode(text), encoder.encode(rest)]);
  let start = 0;
  return lengthsOfPieces(bytes, length).map((pieceLength) => {
    start += pieceLength;
    return decoder.decode(bytes.subarray(start - pieceLength, start));
  });
}

function splitByPattern(text: string): string[] {
  return matchPattern(text).map((piece) => decoder.decode(encoder.encode(piece)));
}

function lengthsOfPieces(bytes: Uint8Array, length: number): number[] {
  const lengths: number[] = [];
  for (let start = 0; start < length; ) {
    const end = pieceEnd(bytes, start, length);
    lengths.push(end - start);
    start = end;
  }
  return lengths;
}

function matchPattern(text: string): string[] {
  return text.match(new RegExp(rankData.pat_str, 'gu')) ?? [];
}

/** The bytes, counting how often they are read. */
function counted(bytes: Uint8Array): { bytes: Uint8Array; reads: () => number } {
  let reads = 0;
  const proxy = new Proxy(bytes, {
    get(target, property) {
      reads++;
      return Reflect.get(target, property);
    },
  });
  return { bytes: proxy, reads: () => reads };
}

describe('pieces', () => {
  it('are those of the published pattern', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(split(text)).toEqual(splitByPattern(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it('do not depend on what lies behind the end', () => {
    fc.assert(
      fc.property(anyText, anyText, (text, rest) => {
        expect(split(text, rest)).toEqual(splitByPattern(text));
      }),
    );
    for (const whole of ["x'll", "x're", "x'VE", "'s", '123', '  \n', ' x', '!/', '中文']) {
      for (let cut = 1; cut < whole.length; cut++) {
        const [text, rest] = [whole.slice(0, cut), whole.slice(cut)];
        expect(split(text, rest)).toEqual(splitByPattern(text));
      }
    }
  });

  it.each(Object.keys(families))('are those of the pattern on %s', (family) => {
    const text = families[family]?.(120) ?? '';
    expect(split(text)).toEqual(splitByPattern(text));
  });

  // In blocks, and the plain scripts in more surroundings than the rest; comparing lengths is quicker than texts.
  it('are those of the pattern around every character', () => {
    const blockSize = 0x400;
    const surroundings = ['$', 'a$', 'A$', '中$', '1$', ' $', '!$', '\n$', '$$', "$'s", ' $b', '$\n'];
    for (let block = 0; block < 0x110000; block += blockSize) {
      // Beyond the scripts in use, one block of each plane is enough.
      if (block > 0x32400 && block % 0x10000 !== 0) continue;
      const characters = Array.from({ length: blockSize }, (_, index) => String.fromCodePoint(block + index));
      for (const surrounding of block < 0x3400 ? surroundings : ['aB$c $']) {
        const text = characters.map((character) => surrounding.replaceAll('$', () => character)).join('. ');
        const bytes = encoder.encode(text);
        const lengths = lengthsOfPieces(bytes, bytes.length);
        const expected = matchPattern(text).map((piece) => Buffer.byteLength(piece));
        expect(lengths.join() === expected.join(), `block ${block}`).toBe(true);
      }
    }
  }, 60_000);

  it.each(Object.keys(families))('take a number of reads in proportion to the text on %s', (family) => {
    const reads = [1_000, 10_000].map((length) => {
      const source = counted(encoder.encode(families[family]?.(length)));
      const end = encoder.encode(families[family]?.(length)).length;
      for (let start = 0; start < end; ) start = pieceEnd(source.bytes, start, end);
      return source.reads() / end;
    });
    expect(Math.max(...reads)).toBeLessThan(8);
  });
});
