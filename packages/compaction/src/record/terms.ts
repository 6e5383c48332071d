/**
 * The terms of a text as numbers, each once: words of letters, digits and underscores whatever their case, and pairs of
 * neighboring characters in scripts that put no spaces between words. A term is 31 bits of the FNV-1a hash of its UTF-16
 * units, so that no vocabulary has to be kept. Two terms of one conversation rarely share a number, and then only a
 * weight is wrong.
 */
export function termsOf(text: string): Uint32Array {
  if (scratch.length < text.length) scratch = new Uint32Array(text.length * 2);
  let count = 0;
  const kinds = characterKinds();
  let hash = BASIS;
  let length = 0;
  let previous = 0;
  for (let index = 0; index <= text.length; index++) {
    let unit = index < text.length ? text.charCodeAt(index) : 0;
    const kind = kinds[unit];
    if (kind === WORD) {
      if (unit >= 0x41 && unit <= 0x5a) unit += 0x20;
      else if (unit >= 0xc0) unit = lowerCase(unit);
      if (length < LONGEST_WORD) hash = Math.imul(hash ^ unit, PRIME);
      length++;
      previous = 0;
      continue;
    }
    if (length > 0) scratch[count++] = hash >>> 1;
    hash = BASIS;
    length = 0;
    if (kind === UNSPACED) {
      // A pair stands for a word of two characters, which most words of these scripts are.
      if (previous > 0) scratch[count++] = Math.imul(Math.imul(BASIS ^ previous, PRIME) ^ unit, PRIME) >>> 1;
      previous = unit;
    } else previous = 0;
  }
  return sortedOnce(scratch, count);
}

/** Grows to the longest text seen, and is used by one text after the other. */
let scratch = new Uint32Array(4_096);

/** So many numbers are sorted by insertion: faster than to call the engine, and most texts are short. */
const FEW = 48;

/** The first `count` numbers in order, each once, in an array of its own. */
export function sortedOnce(numbers: Uint32Array, count: number): Uint32Array {
  if (count > FEW) numbers.subarray(0, count).sort();
  else {
    for (let index = 1; index < count; index++) {
      const number = numbers[index] as number;
      let at = index;
      for (; at > 0 && (numbers[at - 1] as number) > number; at--) numbers[at] = numbers[at - 1] as number;
      numbers[at] = number;
    }
  }
  let length = 0;
  for (let index = 0; index < count; index++) {
    if (index === 0 || numbers[index] !== numbers[length - 1]) numbers[length++] = numbers[index] as number;
  }
  return numbers.slice(0, length);
}

const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
/** UTF-16 units of a word that count: encoded data makes words of any length. */
const LONGEST_WORD = 60;

export const WORD = 1;
export const UNSPACED = 2;

let kindsOfCharacters: Uint8Array | undefined;

/** One byte for every UTF-16 unit, made when first needed. */
export function characterKinds(): Uint8Array {
  if (kindsOfCharacters) return kindsOfCharacters;
  const kinds = new Uint8Array(0x10000);
  const unspaced =
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
  const word = /[\p{L}\p{N}\p{M}_]/u;
  for (let unit = 0; unit < 0x10000; unit++) {
    const character = String.fromCharCode(unit);
    if (unspaced.test(character)) kinds[unit] = UNSPACED;
    // Half of a surrogate pair is a word of its own kind: letters beyond the first plane are rare, and written as such.
    else if (word.test(character) || (unit >= 0xd800 && unit < 0xe000)) kinds[unit] = WORD;
  }
  kindsOfCharacters = kinds;
  return kinds;
}

export function lowerCase(unit: number): number {
  return String.fromCharCode(unit).toLowerCase().charCodeAt(0);
}
