import { wordsIn } from '@x/core/internal';

const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * Returns the terms of a text as numbers, each once and in order: words of letters, digits and underscores in lower case,
 * and pairs of neighboring characters in scripts that put no spaces between words. A term is 31 bits of the FNV-1a hash of
 * its UTF-16 units, so that no vocabulary has to be kept. Two terms of one conversation rarely share a number, and then
 * only a weight is wrong.
 */
export function termsOf(text: string): Uint32Array {
  return sortedOnce(wordsIn(text).map(hashOf));
}

/** Returns numbers in order, each once. */
export function sortedOnce(numbers: readonly number[]): Uint32Array {
  return Uint32Array.from(new Set(numbers)).sort();
}

function hashOf(word: string): number {
  let hash = BASIS;
  for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), PRIME);
  return hash >>> 1;
}
