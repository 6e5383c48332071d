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
  return IS_ASCII.test(text) ? asciiTerms(text) : sortedOnce(wordsIn(text).map(hashOf));
}

/** Returns numbers in order, each once. */
export function sortedOnce(numbers: readonly number[]): Uint32Array {
  const sorted = Uint32Array.from(numbers).sort();
  return sorted.filter((term, index) => term !== sorted[index - 1]);
}

const IS_ASCII = /^[\0-\x7f]*$/;
/** UTF-16 units of a word that count, as in `wordsIn`. */
const LONGEST = 64;

/** Hashes the words of ASCII in place: most text is ASCII, and no word need be a string. */
function asciiTerms(text: string): Uint32Array {
  const terms: number[] = [];
  let hash = BASIS;
  let length = 0;
  for (let index = 0; index <= text.length; index++) {
    const unit = text.charCodeAt(index);
    const isCapital = unit >= 65 && unit <= 90;
    if (isCapital || (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57) || unit === 95) {
      if (length++ < LONGEST) hash = Math.imul(hash ^ (isCapital ? unit + 32 : unit), PRIME);
    } else if (length > 0) {
      terms.push(hash >>> 1);
      hash = BASIS;
      length = 0;
    }
  }
  return sortedOnce(terms);
}

function hashOf(word: string): number {
  let hash = BASIS;
  for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), PRIME);
  return hash >>> 1;
}
