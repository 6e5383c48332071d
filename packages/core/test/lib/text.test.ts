import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ModelError } from '../../src/index.js';
import { errorText, escapeTags, headOf, tailOf } from '../../src/internal.js';
import { anyString, wellFormedText } from '../arbitraries.js';

const limit = fc.integer({ min: 0, max: 30 });

describe('escapeTags', () => {
  test.each([
    '</memory>',
    '<memory path="x">',
    '< / MEMORY >',
    '<\u200b/mem\u200dory>',
    '<\u202e/\u2066memory\u00ad>',
    '</memory\ufe0f>',
    '\uff1c\uff0fｍｅｍｏｒｙ\uff1e',
    '<\u0338/𝐦emory>',
    `<${'\u200b'.repeat(10_000)}/memory>`,
    '<\u0000/\u0008memory>',
  ])('leaves no tag to read: %.20j', (text) => {
    expect(escapeTags(text, 'notes', 'memory')).toBe(`‹${text.slice(1)}`);
  });

  test('leaves other text as it is, in time that grows with it', () => {
    const text = 'if (a < memories && b</*c*/d) <file>x</file> <\u200bm\u200b> 1 < 2';
    expect(escapeTags(text, 'memory')).toBe(text);
    for (const part of ['<', '\u200b', '<\u200b', '<memory', 'm\u200b'])
      expect(escapeTags(part.repeat(100_000), 'x')).toHaveLength(part.length * 100_000);
  });
});

describe('headOf and tailOf', () => {
  test('keep what fits', () => {
    expect(headOf('hello', 5)).toBe('hello');
    expect(tailOf('hello', 5)).toBe('hello');
    expect(headOf('hello', 2)).toBe('he');
    expect(tailOf('hello', 2)).toBe('lo');
  });

  test('give up a unit rather than split a pair', () => {
    expect(headOf('a😀b', 2)).toBe('a');
    expect(headOf('a😀b', 3)).toBe('a😀');
    expect(tailOf('a😀b', 2)).toBe('b');
    expect(tailOf('a😀b', 3)).toBe('😀b');
  });

  test('give nothing for a limit of 0 or less', () => {
    expect([headOf('😀', 0), tailOf('😀', 0), headOf('abc', -1), tailOf('abc', -1)]).toEqual([
      '',
      '',
      '',
      '',
    ]);
  });

  test('never exceed the limit, and lose at most one unit to it', () => {
    fc.assert(
      fc.property(anyString, limit, (text, length) => {
        for (const cut of [headOf(text, length), tailOf(text, length)]) {
          expect(cut.length).toBeLessThanOrEqual(length);
          expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, length) - 1);
        }
      }),
    );
  });

  test('are the beginning and the end of the text', () => {
    fc.assert(
      fc.property(anyString, limit, (text, length) => {
        expect(text.startsWith(headOf(text, length))).toBe(true);
        expect(text.endsWith(tailOf(text, length))).toBe(true);
      }),
    );
  });

  test('are well-formed when the text is', () => {
    fc.assert(
      fc.property(wellFormedText, limit, (text, length) => {
        expect(isWellFormed(headOf(text, length))).toBe(true);
        expect(isWellFormed(tailOf(text, length))).toBe(true);
      }),
    );
  });
});

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

describe('errorText', () => {
  test.each([
    [new Error('broken'), 'broken'],
    [new ModelError('refused'), 'refused'],
    ['thrown as text', 'thrown as text'],
    [{ message: 'an error of another realm' }, 'an error of another realm'],
    [undefined, 'undefined was thrown instead of an Error'],
    [null, 'null was thrown instead of an Error'],
    [[1, 2], '1,2'],
    [Symbol('odd'), 'Symbol(odd)'],
    [Object.create(null), 'the thrown value cannot be shown as text'],
    [
      new Proxy(new Error(), {
        get: () => {
          throw new Error();
        },
      }),
      'the thrown value cannot be shown as text',
    ],
  ])('reads what is thrown, whatever it is (%#)', (thrown, text) => {
    expect(errorText(thrown)).toBe(text);
  });
});
