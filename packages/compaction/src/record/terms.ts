import { hasPlainWords, wordsIn } from '@x/core/internal';

const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** Terms of a text. A plain array, because a typed array of more than 16 numbers allocates a separate buffer. */
export type Terms = readonly number[];

/**
 * Returns the terms of a text as numbers, each once and in order: words of letters, digits and underscores in lower case,
 * and pairs of neighboring characters in scripts that put no spaces between words. A term is the hash of its word, so that
 * no vocabulary has to be kept. Two terms of one conversation rarely share a number, and then only a weight is wrong.
 */
export function termsOf(text: string): Terms {
  return hasPlainWords(text) ? plainTerms(text) : sortedOnce([wordsIn(text).map(hashOf)]);
}

/** Returns the numbers of all lists in order, each once. */
export function sortedOnce(lists: readonly Terms[]): Terms {
  let count = 0;
  const most = lists.reduce((sum, { length }) => sum + length, 0);
  if (room.length < most) room = new Uint32Array(most * 2);
  for (const list of lists) for (const term of list) room[count++] = term;
  return firstOnce(count);
}

/** A shared buffer in which the terms of one text are sorted. */
let room = new Uint32Array(1 << 12);

/** Returns the first `count` numbers of the buffer, sorted and without duplicates. */
function firstOnce(count: number): Terms {
  if (count === 0) return [];
  const sorted = room.subarray(0, count).sort();
  const once: number[] = [];
  for (let index = 0; index < count; index++)
    if (index === 0 || sorted[index] !== sorted[index - 1]) once.push(sorted[index] as number);
  return once;
}

/** Maximum UTF-16 units of a word that are hashed, as in `wordsIn`. */
const LONGEST = 64;

/** For each ASCII character: its code in lower case if it belongs to words, else 0. */
const LETTERS = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  return /\w/.test(character) ? character.toLowerCase().charCodeAt(0) : 0;
});

/** Hashes ASCII words without allocating a string per word. */
function plainTerms(text: string): Terms {
  if (room.length <= text.length / 2 + 1) room = new Uint32Array(text.length);
  let count = 0;
  let hash = BASIS;
  let length = 0;
  // The step after the last character ends the last word.
  for (let index = 0; index <= text.length; index++) {
    const unit = index < text.length ? text.charCodeAt(index) : 0;
    const letter = unit < LETTERS.length ? (LETTERS[unit] as number) : 0;
    if (letter !== 0) {
      if (length++ < LONGEST) hash = Math.imul(hash ^ letter, PRIME);
    } else if (length > 0) {
      room[count++] = hash >>> 1;
      hash = BASIS;
      length = 0;
    }
  }
  return firstOnce(count);
}

/** Returns 31 bits of the FNV-1a hash of a text's UTF-16 units. */
export function hashOf(text: string): number {
  let hash = BASIS;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash >>> 1;
}
