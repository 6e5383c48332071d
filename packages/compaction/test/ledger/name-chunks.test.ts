import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChunkReader } from '../../src/ledger/name-chunks.js';
import { text } from '../arbitraries.js';

/** What it must find, by the definition: URLs, and stretches of at least three characters that a name may have. */
const CHUNK = /https?:\/\/[\p{L}\p{N}_#@~./$+%:?=&-]+|[\p{L}\p{N}_#@~./$+%-]{3,}/gu;
const PLAIN_WORD = /^[A-Z]?[a-z]+\.?$/;

const reader = new ChunkReader();
const unitsOf = (value: string) => Uint16Array.from(value, (_, index) => value.charCodeAt(index));

function chunksOf(value: string): string[] {
  const chunks: string[] = [];
  reader.open(value);
  while (reader.next()) chunks.push(reader.chunk());
  return chunks;
}

const names = fc
  .array(
    fc.constantFrom(
      'http',
      'https',
      '://',
      '/',
      '.',
      '..',
      'src',
      'userId',
      'Word.',
      ' ',
      '-',
      '_',
      '42',
      'Ünï',
      '字',
    ),
  )
  .map((parts) => parts.join(''));

describe('ChunkReader', () => {
  it('finds what the definition finds, but for plain words', () => {
    fc.assert(
      fc.property(fc.oneof(names, text), (value) => {
        // Letters beyond the first plane end a name: they are in none that matters.
        fc.pre(!/[\u{10000}-\u{10ffff}]/u.test(value));
        const expected = [...value.matchAll(CHUNK)].map(([chunk]) => chunk);
        expect(chunksOf(value)).toEqual(expected.filter((chunk) => !PLAIN_WORD.test(chunk)));
      }),
      { numRuns: 500 },
    );
  });

  it('tells equal stretches by their hash and by themselves', () => {
    reader.open('src/a_b.ts, https://a.example/x?y=1 src/a_b.ts; src/a_c.ts https://a.example/x?y=1');
    const seen: { chunk: string; hash: number }[] = [];
    while (reader.next()) {
      for (const { chunk, hash } of seen) {
        expect(reader.is(unitsOf(chunk), 0, chunk.length)).toBe(reader.chunk() === chunk);
        expect(reader.hash === hash).toBe(reader.chunk() === chunk);
      }
      seen.push({ chunk: reader.chunk(), hash: reader.hash });
    }
    expect(seen).toHaveLength(5);
  });

  it('sees nothing of the text before, whichever was longer', () => {
    expect(chunksOf(`${'word '.repeat(3_000)}a_b_c_d`)).toEqual(['a_b_c_d']);
    expect(chunksOf('x_y')).toEqual(['x_y']);
    expect(chunksOf('https:')).toEqual([]);
  });
});
