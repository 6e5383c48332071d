import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digest, randomHex } from '../../src/internal.js';

it('is the SHA-256 of the UTF-8 bytes, as Node computes it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(digest(text)).toBe(createHash('sha256').update(text).digest('hex'));
    }),
  );
  expect(digest('\ud800')).toBe(createHash('sha256').update('\ud800').digest('hex'));
});

it('makes names that do not meet', () => {
  const names = Array.from({ length: 1_000 }, () => randomHex(12));
  expect(new Set(names).size).toBe(1_000);
  for (const name of names) expect(name).toMatch(/^[0-9a-f]{24}$/);
});
