import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eachChunk } from '../../src/ledger/name-chunks.js';
import { text } from '../arbitraries.js';

/** What it must find, by the definition: URLs, and stretches of at least three characters that a name may have. */
const CHUNK = /https?:\/\/[\p{L}\p{N}_#@~./$+%:?=&-]+|[\p{L}\p{N}_#@~./$+%-]{3,}/gu;
const PLAIN_WORD = /^[A-Z]?[a-z]+\.?$/;

function chunksOf(value: string): string[] {
  const chunks: string[] = [];
  eachChunk(value, (chunk) => chunks.push(chunk) > 0);
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

describe('eachChunk', () => {
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

  it('stops when it is told to', () => {
    let seen = 0;
    eachChunk('a_b c_d e_f', () => ++seen < 2);
    expect(seen).toBe(2);
  });
});
