/** What a stretch of text has in it, as bits: tells at the least cost what names it cannot hold. */
export const SIGNS = {
  slash: 1,
  dot: 2,
  digit: 4,
  underscore: 8,
  innerUpper: 16,
  foreign: 32,
  url: 64,
} as const;

const SHORTEST = 3;
const LETTER = 128;
const UPPER = 256;
const OTHER = 512;
const UNKNOWN = 0xffff;
const LETTER_OR_NUMBER = /[\p{L}\p{N}]/u;
const DIGITS = /\p{N}/u;

/** What each UTF-16 unit is in a name, 0 where it ends one. Beyond ASCII filled in as units are met. */
const kinds = new Uint16Array(65_536).fill(UNKNOWN, 128);
for (let code = 0; code < 128; code++) kinds[code] = asciiKind(String.fromCharCode(code));

/**
 * Calls `visit` with every stretch of at least three letters, digits and `_#@~./$+%-` that is no plain word, and with
 * whole URLs, until it answers `false`. Most of a text is plain words: they are passed over without being cut out.
 */
export function eachChunk(text: string, visit: (chunk: string, signs: number) => boolean): void {
  const { length } = text;
  let index = 0;
  while (index < length) {
    let kind = kindAt(text, index);
    if (kind === 0) {
      index++;
      continue;
    }
    const start = index;
    let bits = kind & ~UPPER;
    for (index++; index < length; index++) {
      kind = kindAt(text, index);
      if (kind === 0) break;
      bits |= kind & UPPER ? SIGNS.innerUpper | LETTER : kind;
    }
    if (index - start < SHORTEST) continue;
    if (text.startsWith('://', index) && isHttp(text, start, index) && kindAt(text, index + 3) !== 0) {
      index = endOfUrl(text, index);
      if (!visit(text.slice(start, index), SIGNS.url)) return;
      continue;
    }
    // A full stop at the end of a sentence.
    if (bits === (LETTER | SIGNS.dot) && text.indexOf('.', start) === index - 1) continue;
    if (bits !== LETTER && !visit(text.slice(start, index), bits)) return;
  }
}

function kindAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  // Behind the end there is no unit, and no kind.
  const kind = kinds[code] ?? 0;
  if (kind !== UNKNOWN) return kind;
  const character = String.fromCharCode(code);
  const found = LETTER_OR_NUMBER.test(character)
    ? SIGNS.foreign | (DIGITS.test(character) ? SIGNS.digit : LETTER)
    : 0;
  kinds[code] = found;
  return found;
}

function asciiKind(character: string): number {
  if (/[a-z]/.test(character)) return LETTER;
  if (/[A-Z]/.test(character)) return LETTER | UPPER;
  if (/\d/.test(character)) return SIGNS.digit;
  if (character === '_') return SIGNS.underscore;
  if (character === '/') return SIGNS.slash;
  if (character === '.') return SIGNS.dot;
  return '#@~$+%-'.includes(character) ? OTHER : 0;
}

function isHttp(text: string, start: number, end: number): boolean {
  const scheme = end - start;
  return (
    (scheme === 4 && text.startsWith('http', start)) || (scheme === 5 && text.startsWith('https', start))
  );
}

function endOfUrl(text: string, from: number): number {
  let index = from + 3;
  while (index < text.length && (kindAt(text, index) !== 0 || ':?=&'.includes(text[index] as string)))
    index++;
  return index;
}
