import { SECRET_PATTERNS } from './secret-patterns.js';

/** Five bits of a UTF-16 unit: the same for a letter and its capital. Others may share them: a hint is no proof. */
const UNIT_BITS = 5;
const UNIT = (1 << UNIT_BITS) - 1;
const WINDOW = (1 << (3 * UNIT_BITS)) - 1;

/** For every three units, the patterns, as bits, that may match where they stand. */
const patternsAt = new Uint16Array(WINDOW + 1);
SECRET_PATTERNS.forEach(({ hints }, index) => {
  for (const hint of hints) {
    const window = [...hint].reduce((bits, unit) => shifted(bits, unit.charCodeAt(0)), 0);
    patternsAt[window] = (patternsAt[window] ?? 0) | (1 << index);
  }
});

/**
 * Which of {@link SECRET_PATTERNS} a text may match, as bits: few texts hold a secret, and to read one once costs a
 * tenth of searching it for every pattern.
 */
export function hintedPatterns(text: string): number {
  let window = 0;
  let patterns = 0;
  for (let index = 0; index < text.length; index++) {
    window = shifted(window, text.charCodeAt(index));
    patterns |= patternsAt[window] as number;
  }
  return patterns;
}

function shifted(window: number, code: number): number {
  return ((window << UNIT_BITS) | (code & UNIT)) & WINDOW;
}
