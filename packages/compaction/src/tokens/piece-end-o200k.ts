import { characterAt, LENGTH_SHIFT, LOWER, NEWLINE, NUMBER, UPPER } from './character-class.js';
import { contractionEnd, numberEnd, punctuationEnd, SLASH, whitespaceEnd } from './piece-end.js';

const WORD = UPPER | LOWER;

/**
 * The next piece by the pattern of o200k_base, which tiktoken publishes as
 *
 *     [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+('s|…)?
 *     |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*('s|…)?
 *     |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 */
export function pieceEndO200k(bytes: Uint8Array, start: number, end: number): number {
  const character = characterAt(bytes, start, end);
  // A mark may be the prefix too, but as it may also begin the word, to begin with it gives the same end.
  if ((character & WORD) !== 0) return wordEnd(bytes, start, end, character);
  if ((character & NUMBER) !== 0) return numberEnd(bytes, start, end, character);
  if ((character & NEWLINE) === 0) {
    const second = start + (character >>> LENGTH_SHIFT);
    const secondCharacter = characterAt(bytes, second, end);
    if ((secondCharacter & WORD) !== 0) return wordEnd(bytes, second, end, secondCharacter);
    let position = punctuationEnd(bytes, start, end);
    if (position > start) {
      while (position < end && isLineBreakOrSlash(bytes[position] as number)) position++;
      return position;
    }
  }
  return whitespaceEnd(bytes, start, end);
}

/**
 * Both word alternatives at once, from the first character of the word. The first takes capitals greedily and must
 * then find a small letter; if none follows, it gives back all capitals after the last character that counts as
 * both (`sharedEnd`), and if there is no such character, the second alternative takes the capitals alone.
 */
function wordEnd(bytes: Uint8Array, start: number, end: number, first: number): number {
  let position = start;
  let character = first;
  let sharedEnd = 0;
  while ((character & UPPER) !== 0) {
    position += character >>> LENGTH_SHIFT;
    if ((character & LOWER) !== 0) sharedEnd = position;
    character = characterAt(bytes, position, end);
  }
  if ((character & LOWER) !== 0) {
    do {
      position += character >>> LENGTH_SHIFT;
      character = characterAt(bytes, position, end);
    } while ((character & LOWER) !== 0);
  } else if (sharedEnd > 0) {
    position = sharedEnd;
  }
  return contractionEnd(bytes, position, end);
}

function isLineBreakOrSlash(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d || byte === SLASH;
}
