import {
  characterAt,
  LENGTH_SHIFT,
  LETTER,
  LOWER,
  NEWLINE,
  NUMBER,
  SPACE,
  UPPER,
} from './character-class.js';

const SLASH = 0x2f;
const APOSTROPHE = 0x27;
const BLANK = 0x20;
const TO_LOWER = 0x20;

/** `'s|'S|'t|'T|'re|'rE|…|'d|'D` at `position`, or `position` if there is none. */
function contractionEnd(bytes: Uint8Array, position: number, end: number): number {
  if (position + 1 >= end || bytes[position] !== APOSTROPHE) return position;
  // Setting the bit maps each capital letter to its small one, and nothing else to a letter.
  const first = (bytes[position + 1] as number) | TO_LOWER;
  if (first === 0x73 || first === 0x74 || first === 0x6d || first === 0x64) return position + 2; // s t m d
  if (position + 2 >= end) return position;
  const second = (bytes[position + 2] as number) | TO_LOWER;
  if (second === 0x65 && (first === 0x72 || first === 0x76)) return position + 3; // re ve
  if (second === 0x6c && first === 0x6c) return position + 3; // ll
  return position;
}

/** `\p{N}{1,3}` whose first character is `character`. */
function numberEnd(bytes: Uint8Array, start: number, end: number, character: number): number {
  const second = start + (character >>> LENGTH_SHIFT);
  const secondCharacter = characterAt(bytes, second, end);
  if ((secondCharacter & NUMBER) === 0) return second;
  const third = second + (secondCharacter >>> LENGTH_SHIFT);
  const thirdCharacter = characterAt(bytes, third, end);
  return (thirdCharacter & NUMBER) === 0 ? third : third + (thirdCharacter >>> LENGTH_SHIFT);
}

/** ` ?[^\s\p{L}\p{N}]+`, or `start` if that is not there. */
function punctuationEnd(bytes: Uint8Array, start: number, end: number): number {
  let position = bytes[start] === BLANK ? start + 1 : start;
  const first = position;
  let character = characterAt(bytes, position, end);
  while (position < end && (character & (SPACE | LETTER | NUMBER)) === 0) {
    position += character >>> LENGTH_SHIFT;
    character = characterAt(bytes, position, end);
  }
  return position === first ? start : position;
}

/**
 * `\s*[\r\n]+|\s+(?!\S)|\s+` from a space: up to the last line break of the run if it has one; else all of the
 * run at the end of the text; else all but its last character, which may begin the next piece.
 */
function whitespaceEnd(bytes: Uint8Array, start: number, end: number): number {
  let position = start;
  let last = start;
  let lastLineBreakEnd = start;
  let character = characterAt(bytes, position, end);
  while ((character & SPACE) !== 0) {
    last = position;
    position += character >>> LENGTH_SHIFT;
    if ((character & NEWLINE) !== 0) lastLineBreakEnd = position;
    character = characterAt(bytes, position, end);
  }
  if (lastLineBreakEnd > start) return lastLineBreakEnd;
  return position === end || last === start ? position : last;
}

const WORD = UPPER | LOWER;

/**
 * Finds the end of the piece that begins at `start`; `bytes[start .. end]` is valid UTF-8 and not empty. By the pattern of o200k_base, which tiktoken publishes as
 *
 *     [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+('s|…)?
 *     |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*('s|…)?
 *     |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 */
export function pieceEnd(bytes: Uint8Array, start: number, end: number): number {
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
