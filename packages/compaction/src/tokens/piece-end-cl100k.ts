import { characterAt, LENGTH_SHIFT, LETTER, NEWLINE, NUMBER } from './character-class.js';
import { contractionEnd, numberEnd, punctuationEnd, whitespaceEnd } from './piece-end.js';

/**
 * The next piece by the pattern of cl100k_base, which tiktoken publishes as
 *
 *     ('s|…)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 */
export function pieceEndCl100k(bytes: Uint8Array, start: number, end: number): number {
  const character = characterAt(bytes, start, end);
  if ((character & LETTER) !== 0) return lettersEnd(bytes, start, end, character);
  if ((character & NUMBER) !== 0) return numberEnd(bytes, start, end, character);
  if ((character & NEWLINE) === 0) {
    const contraction = contractionEnd(bytes, start, end);
    if (contraction > start) return contraction;
    const second = start + (character >>> LENGTH_SHIFT);
    const secondCharacter = characterAt(bytes, second, end);
    if ((secondCharacter & LETTER) !== 0) return lettersEnd(bytes, second, end, secondCharacter);
    let position = punctuationEnd(bytes, start, end);
    if (position > start) {
      while (position < end && isLineBreak(bytes[position] as number)) position++;
      return position;
    }
  }
  return whitespaceEnd(bytes, start, end);
}

function lettersEnd(bytes: Uint8Array, start: number, end: number, first: number): number {
  let position = start;
  let character = first;
  while ((character & LETTER) !== 0) {
    position += character >>> LENGTH_SHIFT;
    character = characterAt(bytes, position, end);
  }
  return position;
}

function isLineBreak(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}
