import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeSegment, encodeSegment } from '../../src/internal.js';
import { fileSegment } from '../../src/store.js';
import { anyString } from '../arbitraries.js';

const long = fc
  .tuple(anyString, fc.constantFrom('a', 'é', '漢', 'A'), fc.integer({ min: 0, max: 300 }))
  .map(([text, character, times]) => text + character.repeat(times));

const reserved = ['con', 'prn', 'aux', 'nul', 'com0', 'com1', 'com9', 'lpt0', 'lpt9'];
const isReserved = (name: string) => reserved.includes((name.toLowerCase().split('.')[0] ?? '').trimEnd());

describe('encodeSegment', () => {
  test.each([
    ['', ''],
    ['s-001', 's-001'],
    ['a.b_c-9', 'a.b_c-9'],
    ['Alice', '%41lice'],
    ['a/b\\c', 'a%2fb%5cc'],
    ['.', '%2e'],
    ['..', '%2e%2e'],
    ['.git', '%2egit'],
    ['a.', 'a%2e'],
    ['a.b.', 'a.b%2e'],
    ['100%', '100%25'],
    ['%u0041', '%25u0041'],
    ['é', '%u00e9'],
    ['\ud800', '%ud800'],
    ['😀', '%ud83d%ude00'],
    ['\0', '%00'],
    ['con', '%63on'],
    ['con.txt', '%63on.txt'],
    ['CON', '%43%4f%4e'],
    ['console', 'console'],
    ['lpt9', '%6cpt9'],
    ['com10', 'com10'],
  ])('%j is %j', (text, encoded) => {
    expect(encodeSegment(text)).toBe(encoded);
    expect(decodeSegment(encoded)).toBe(text);
  });

  test('is undone by decodeSegment', () => {
    fc.assert(
      fc.property(anyString, (text) => {
        expect(decodeSegment(encodeSegment(text))).toBe(text);
      }),
    );
  });

  test('never reads the text as already encoded', () => {
    fc.assert(
      fc.property(anyString, (text) => {
        expect(decodeSegment(encodeSegment(encodeSegment(text)))).toBe(encodeSegment(text));
      }),
    );
  });

  test('uses characters that every file system keeps apart', () => {
    fc.assert(
      fc.property(anyString, (text) => {
        expect(encodeSegment(text)).toMatch(/^[a-z0-9_.%-]*$/);
      }),
    );
  });
});

describe('fileSegment', () => {
  test('is the encoding where that is short enough', () => {
    expect(fileSegment('a'.repeat(200))).toBe('a'.repeat(200));
    expect(fileSegment('Ä')).toBe('%u00c4');
    expect([fileSegment(''), fileSegment('%_')]).toEqual(['%_', '%25_']);
  });

  test('cuts a long one and ends it with a hash of the whole', () => {
    const [first, second] = [fileSegment(`${'a'.repeat(300)}1`), fileSegment(`${'a'.repeat(300)}2`)];
    expect(first).toMatch(/^a{134}%_[0-9a-f]{64}$/);
    expect(first).not.toBe(second);
  });

  test('is a file name everywhere: at most 200 bytes, no dots alone, no reserved name', () => {
    fc.assert(
      fc.property(fc.oneof(long, fc.constantFrom(...reserved, 'Con', 'NUL.tar.gz')), (text) => {
        const segment = fileSegment(text);
        expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(200);
        expect(segment).not.toMatch(/^\.|[. ]$/);
        expect(isReserved(segment)).toBe(false);
      }),
    );
  });

  test('differs for different texts, also when case is folded or text normalized', () => {
    fc.assert(
      fc.property(long, long, (left, right) => {
        fc.pre(left !== right);
        for (const fold of [(name: string) => name.toLowerCase(), (name: string) => name.normalize('NFC')]) {
          expect(fold(fileSegment(left))).not.toBe(fold(fileSegment(right)));
        }
      }),
    );
  });
});
