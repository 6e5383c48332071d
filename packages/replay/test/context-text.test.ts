import { describe, expect, it } from 'vitest';
import { containsWhole } from '../src/context-text.js';

describe('containsWhole', () => {
  it.each([
    ['getUserById', 'getUser', false],
    ['call getUser()', 'getUser', true],
    ['12.50 EUR', '12', false],
    ['1,200', '200', false],
    ['at 12.', '12', true],
    ['去上海的航班', '上海', true],
    ['{"q":"say \\"hi\\" twice"}', 'say "hi" twice', true],
    ['état', 'tat', false],
    ['a-b_c', 'b', false],
  ])('%s, %s: %s', (text, token, held) => {
    expect(containsWhole(text, token)).toBe(held);
  });
});
