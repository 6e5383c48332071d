import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateCounter } from '../../src/index.js';

const fixtures = new URL('./fixtures/', import.meta.url);

/** Tokens of each fixture in o200k_base, counted with js-tiktoken 1.0.21. */
const exactCounts: Readonly<Record<string, number>> = {
  arabic: 208,
  base64: 560,
  'base64-unbroken': 527,
  chinese: 503,
  'chinese-traditional': 586,
  diff: 259,
  english: 162,
  french: 161,
  german: 165,
  go: 263,
  greek: 266,
  hebrew: 253,
  hex: 450,
  'hex-dump': 707,
  hindi: 197,
  japanese: 499,
  java: 246,
  'json-compact': 295,
  'json-escaped': 214,
  'json-pretty': 294,
  korean: 367,
  log: 346,
  markdown: 260,
  'mixed-chat': 254,
  polish: 251,
  python: 312,
  russian: 195,
  shell: 372,
  spanish: 150,
  sql: 210,
  thai: 247,
  turkish: 216,
  typescript: 264,
  ukrainian: 250,
  uuids: 571,
  vietnamese: 206,
  whitespace: 131,
};

function fixture(name: string): string {
  return readFileSync(new URL(`${name}.txt`, fixtures), 'utf8').replaceAll('\r\n', '\n');
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc
    .array(
      fc.constantFrom(
        'word',
        'HTMLWord',
        ' ',
        '\n',
        '\t',
        '12345',
        '"',
        '},',
        '漢字',
        '這',
        'слово',
        "'s",
        '=',
      ),
    )
    .map((parts) => parts.join('')),
);

describe('estimateCounter against o200k_base', () => {
  test.each(Object.entries(exactCounts))('is within 20 % on %s', (name, exact) => {
    expect(Math.abs(estimateCounter.count(fixture(name)) / exact - 1)).toBeLessThanOrEqual(0.2);
  });

  test('has an exact count for every fixture, of texts long enough to mean something', () => {
    const names = readdirSync(fixtures).map((file) => file.replace(/\.txt$/, ''));
    expect(names.sort()).toEqual(Object.keys(exactCounts).sort());
    expect(names.filter((name) => fixture(name).length < 600)).toEqual([]);
  });

  test('is within 5 % on all fixtures together', () => {
    const estimated = Object.keys(exactCounts).reduce(
      (sum, name) => sum + estimateCounter.count(fixture(name)),
      0,
    );
    const exact = Object.values(exactCounts).reduce((sum, count) => sum + count, 0);
    expect(Math.abs(estimated / exact - 1)).toBeLessThanOrEqual(0.05);
  });
});

describe('estimateCounter on short texts', () => {
  test.each([
    ['', 0],
    ['a', 1],
    [' ', 1],
    ['\n', 1],
    ['Hello', 1],
    [' the', 1],
    ["it's", 1],
    ['1234567', 3],
    ['漢', 1],
    ['\ud800', 1],
  ])('counts %j as %i', (text, tokens) => {
    expect(estimateCounter.count(text)).toBe(tokens);
  });

  test('splits identifiers where o200k_base does', () => {
    expect(estimateCounter.count('getElementById')).toBe(4);
    expect(estimateCounter.count('get_element_by_id')).toBe(estimateCounter.count('get element by id'));
  });
});

describe('estimateCounter on any text', () => {
  test('is a whole number, and 0 for the empty text alone', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = estimateCounter.count(text);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens > 0).toBe(text !== '');
      }),
    );
  });

  test('never exceeds two tokens a unit', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(estimateCounter.count(text)).toBeLessThanOrEqual(2 * text.length);
      }),
    );
  });

  test('does not shrink when a text grows, but for the piece at the seam', () => {
    fc.assert(
      fc.property(anyText, anyText, (left, right) => {
        expect(estimateCounter.count(left + right)).toBeGreaterThanOrEqual(estimateCounter.count(left) - 2);
      }),
    );
  });

  test('adds up over lines, within the pieces at the seam', () => {
    fc.assert(
      fc.property(anyText, anyText, (left, right) => {
        const sum = estimateCounter.count(left) + estimateCounter.count(right);
        expect(Math.abs(estimateCounter.count(`${left}\n${right}`) - sum)).toBeLessThanOrEqual(3);
      }),
    );
  });

  test('gives the same answer each time', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(estimateCounter.count(text)).toBe(estimateCounter.count(text));
      }),
    );
  });
});

describe('estimateCounter on long runs', () => {
  const length = 200_000;
  // What o200k_base makes of them lies between the bounds; the estimate must too.
  test.each([
    ['spaces', ' ', 1 / 200, 1 / 60],
    ['tabs', '\t', 1 / 24, 1 / 10],
    ['line breaks', '\n', 1 / 20, 1 / 8],
    ['a ruler', '=', 1 / 100, 1 / 16],
    ['one letter', 'a', 1 / 8, 1 / 2],
    ['digits', '7', 1 / 3, 0.34],
    ['one Chinese character', '好', 0.5, 1.1],
    ['quotes', '"', 1 / 8, 1 / 2],
    ['lone surrogates', '\ud83d', 0.5, 3],
    ['letters and apostrophes', "a'", 0.25, 1],
    ['words', ' word', 0.19, 0.21],
    ['alternating blanks', ' \t', 1 / 8, 1],
    ['slashes and dots', './', 1 / 16, 1],
    ['mixed case', 'aB', 0.5, 1],
  ])('is sensible on 200 000 characters of %s', (_, unit, least, most) => {
    const tokens = estimateCounter.count(unit.repeat(length / unit.length));
    expect(tokens).toBeGreaterThanOrEqual(Math.floor(length * least));
    expect(tokens).toBeLessThanOrEqual(Math.ceil(length * most));
  });
});
