import fc from 'fast-check';
import { expect, it } from 'vitest';
import { exactText, sortedJson } from '../../src/internal.js';

it('has one text for what is equal, and another for what JSON alone makes the same', () => {
  const make = (): unknown[] => {
    const bytes = new Uint8Array([1, 2, 3]);
    return [
      ...['AQID', bytes, bytes.buffer, new DataView(bytes.buffer), new Uint8Array([1, 2, 4]).buffer],
      ...[{}, new Map(), new Set(), new Map([['a', 1]]), new Map([['a', 2]]), new Set([1]), [1]],
      ...[new Date(0), new Date(1), new Date(0).toISOString(), new URL('https://x/a'), 'https://x/a'],
      ...[null, [null], [undefined], Number.NaN, Number.POSITIVE_INFINITY, 0, -0, 1n, 1, '1n'],
    ];
  };
  const texts = make().map(exactText);
  expect(make().map(exactText)).toEqual(texts);
  expect(new Set(texts).size).toBe(texts.length);
  expect(exactText(new Uint8Array([9, 1, 2, 3]).subarray(1))).toBe(exactText(new Uint8Array([1, 2, 3])));
});

it('tells apart by the object what does not show what it holds', () => {
  const [one, other] = [new Blob(['a']), new Blob(['b'])];
  expect(exactText({ file: one })).toBe(exactText({ file: one }));
  expect(exactText({ file: one })).not.toBe(exactText({ file: other }));
  const [left, right] = [() => 1, () => 2];
  expect(exactText(left)).not.toBe(exactText(right));
});

it('writes plain JSON in the same way, however its keys are ordered', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const value = JSON.parse(text.replaceAll('-0', '0')) as unknown;
      const written = exactText({ value, gone: undefined });
      expect(sortedJson(JSON.parse(written))).toBe(sortedJson({ value }));
      expect(exactText(JSON.parse(sortedJson({ value })))).toBe(written);
    }),
  );
});
