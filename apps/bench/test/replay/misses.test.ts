import { describe, expect, it } from 'vitest';
import { formOf } from '../../src/replay/misses.js';

describe('formOf', () => {
  it.each([
    ['src/replay/misses.ts', 'path'],
    ['./misses.js', 'path'],
    ['misses.test.ts', 'file name'],
    ['2778466000', 'number'],
    ['6c94a68b1e', 'hash'],
    ['ORD-1234', 'id'],
    ['camelCase', 'identifier'],
    ['MAX_SIZE_2', 'identifier'],
  ])('takes %s for a %s', (token, form) => {
    expect(formOf(token)).toBe(form);
  });
});
