import { expect, it } from 'vitest';
import { wellFormed } from '../../src/lib/well-formed.js';

it('replaces lone surrogates in texts and in keys, at any depth, and returns a sound value itself', () => {
  const sound = { a: ['x', { b: '😀' }] };
  expect(wellFormed(sound)).toBe(sound);
  expect(wellFormed({ 'k\ud800': 1 })).toEqual({ 'k\ufffd': 1 });
  expect(wellFormed([{ a: { 'k\udc00': 'v\ud800' } }])).toEqual([{ a: { 'k\ufffd': 'v\ufffd' } }]);
});
