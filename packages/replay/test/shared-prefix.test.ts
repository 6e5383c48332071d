import { assistantMessage, type Message, userMessage } from '@x/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sharedPrefix } from '../src/shared-prefix.js';

const texts = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 });
const build = (values: readonly string[]): readonly Message[] => values.map((value) => userMessage(value));

it('counts whole messages of the same content from the start, whoever made them', () => {
  fc.assert(
    fc.property(texts, texts, (left, right) => {
      const firstDifference = left.findIndex((text, index) => text !== right[index]);
      const expected = firstDifference === -1 ? left.length : firstDifference;
      expect(sharedPrefix(build(left), build(right))).toBe(Math.min(expected, right.length));
    }),
  );
});

it('tells apart who says it, and does not look at what is never sent', () => {
  expect(sharedPrefix([userMessage('a')], [assistantMessage('a')])).toBe(0);
  const marked = userMessage('a', { metadata: { note: 1 }, createdAt: '2026-01-01T00:00:00.000Z' });
  expect(sharedPrefix([userMessage('a')], [marked])).toBe(1);
});
