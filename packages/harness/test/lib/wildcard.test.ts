import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeWildcards, literalOf, matchWildcard } from '../../src/lib/wildcard.js';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '\\', '/', '\n', ' '), maxLength: 12 });

/** The same by a regular expression, which may take exponential time on longer patterns. */
function byExpression(pattern: string): RegExp {
  const source = pattern.replace(/\\(.)|(.)/gs, (whole, escaped: string | undefined) => {
    if (escaped !== undefined) return `\\u${escaped.charCodeAt(0).toString(16).padStart(4, '0')}`;
    if (whole === '*') return '.*';
    return whole === '?' ? '.' : `\\u${whole.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return new RegExp(`^(?:${source})$`, 's');
}

describe('matchWildcard', () => {
  it('agrees with the regular expression that says the same', () => {
    fc.assert(
      fc.property(text, text, (pattern, subject) => {
        expect(matchWildcard(pattern, subject)).toBe(byExpression(pattern).test(subject));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes an escaped text for itself alone', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(matchWildcard(escapeWildcards(one), other)).toBe(one === other);
        expect(literalOf(escapeWildcards(one))).toBe(one);
      }),
      { numRuns: 500 },
    );
  });

  it('ends soon on patterns that make regular expressions run for ever', () => {
    expect(matchWildcard(`${'*a'.repeat(200)}*b`, 'a'.repeat(5_000))).toBe(false);
  });
});
