import { hasPlainWords } from '@x/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { termsOf } from '../../src/record/terms.js';

const same = (one: string, other: string) => expect([...termsOf(one)]).toEqual([...termsOf(other)]);

describe('the terms of a text', () => {
  it.each([
    ['case', 'Order ORDER order', 'order'],
    ['marks around words', '"order", (order); order!', 'order'],
    ['umlauts and Cyrillic', 'ÄNDERUNG Заказ', 'änderung заказ'],
  ])('do not depend on %s', (_, one, other) => same(one, other));

  it('are pairs of neighbors where a script puts no spaces, so that parts of sentences meet', () => {
    const whole = new Set(termsOf('母亲腿脚不便，需要电梯'));
    for (const term of termsOf('腿脚不便')) expect(whole).toContain(term);
    for (const term of termsOf('电梯')) expect(whole).toContain(term);
  });

  it('tell words apart', () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `w${index}`);
    expect(termsOf(words.join(' '))).toHaveLength(words.length);
  });

  it('are the same whether the words of a text are read as plain or not', () => {
    const plain = Array.from({ length: 0xd800 }, (_, unit) => String.fromCharCode(unit)).filter(
      hasPlainWords,
    );
    const unit = fc.oneof(fc.string({ unit: 'binary-ascii', maxLength: 1 }), fc.constantFrom(...plain));
    const [extra] = termsOf('я');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 300 }), (text) => {
        expect([...termsOf(text)]).toEqual([...termsOf(`${text} я`)].filter((term) => term !== extra));
      }),
      { examples: [[`${'Long'.repeat(40)} and more`], [plain.join('')], [plain.join('a')]] },
    );
  });

  it('stand each once and in order, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const terms = [...termsOf(text)];
        expect(terms).toEqual([...new Set(terms)].sort((one, other) => one - other));
      }),
    );
  });
});

it.each(['größe', 'Москва', 'plain'])('takes a word of any script whole: %s', (word) => {
  expect(termsOf(word)).toHaveLength(1);
  expect(termsOf(`${word} → ${word}`)).toEqual(termsOf(word));
});
