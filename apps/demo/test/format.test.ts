import { expect, it } from 'vitest';
import { share, shortCount } from '../web/src/lib/format.js';

it.each([
  [-11_013, 45_000, '-11k', '-24 %'],
  [-3, 45_000, '-3', '-<1 %'],
  [0, 45_000, '0', '0 %'],
  [11_013, 45_000, '11k', '24 %'],
])('rounds %i of %i the same way below zero', (part, whole, count, percent) => {
  expect(shortCount(part)).toBe(count);
  expect(share(part, whole).replace('\u202f', ' ')).toBe(percent);
});
