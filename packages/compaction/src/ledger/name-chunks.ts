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
const COLON = 58;
const LETTER = 128;
const OTHER = 256;
const UNKNOWN = 0xffff;
const LETTER_OR_NUMBER = /[\p{L}\p{N}]/u;
const DIGITS = /\p{N}/u;

/**
 * What each UTF-16 unit is at the beginning of a stretch and inside one, 0 where it ends it. Beyond ASCII filled in as
 * units are met.
 */
const outer = new Uint16Array(65_536).fill(UNKNOWN, 128);
const inner = new Uint16Array(65_536).fill(UNKNOWN, 128);
for (let code = 0; code < 128; code++) {
  const character = String.fromCharCode(code);
  outer[code] = asciiKind(character);
  inner[code] = asciiKind(character) | (/[A-Z]/.test(character) ? SIGNS.innerUpper : 0);
}

/**
 * Calls `visit` with every stretch of at least three letters, digits and `_#@~./$+%-` that is no plain word, and with
 * whole URLs, until it answers `false`. Most of a text is plain words: they are passed over without being cut out.
 */
export function eachChunk(text: string, visit: (chunk: string, signs: number) => boolean): void {
  const { length } = text;
  let index = 0;
  while (index < length) {
    let bits = kindAt(outer, text, index);
    const start = index++;
    if (bits === 0) continue;
    for (; index < length; index++) {
      const kind = kindAt(inner, text, index);
      if (kind === 0) break;
      bits |= kind;
    }
    const end = index++;
    if (end - start < SHORTEST) continue;
    if (bits === LETTER) {
      if (!startsUrl(text, start, end)) continue;
      index = endOfUrl(text, end);
      if (!visit(text.slice(start, index), SIGNS.url)) return;
      continue;
    }
    // A full stop at the end of a sentence.
    if (bits === (LETTER | SIGNS.dot) && text.indexOf('.', start) === end - 1) continue;
    if (!visit(text.slice(start, end), bits)) return;
  }
}

function kindAt(kinds: Uint16Array, text: string, index: number): number {
  // Behind the end there is no unit, and no kind.
  const kind = kinds[text.charCodeAt(index)] ?? 0;
  return kind === UNKNOWN ? learn(text.charCodeAt(index)) : kind;
}

function learn(code: number): number {
  const character = String.fromCharCode(code);
  const found = LETTER_OR_NUMBER.test(character)
    ? SIGNS.foreign | (DIGITS.test(character) ? SIGNS.digit : LETTER)
    : 0;
  outer[code] = found;
  inner[code] = found;
  return found;
}

function asciiKind(character: string): number {
  if (/[A-Za-z]/.test(character)) return LETTER;
  if (/\d/.test(character)) return SIGNS.digit;
  if (character === '_') return SIGNS.underscore;
  if (character === '/') return SIGNS.slash;
  if (character === '.') return SIGNS.dot;
  return '#@~$+%-'.includes(character) ? OTHER : 0;
}

/** Whether a word is the scheme of a web address that goes on behind it. */
function startsUrl(text: string, start: number, end: number): boolean {
  if (text.charCodeAt(end) !== COLON || !text.startsWith('://', end)) return false;
  const scheme = text.slice(start, end);
  return (scheme === 'http' || scheme === 'https') && kindAt(inner, text, end + 3) !== 0;
}

function endOfUrl(text: string, from: number): number {
  let index = from + 3;
  while (index < text.length && (kindAt(inner, text, index) !== 0 || ':?=&'.includes(text[index] as string)))
    index++;
  return index;
}
