/** Properties of a character that the token patterns ask for, one bit each. */
export const UPPER = 1; // \p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}: may stand in the capital part of a word of o200k_base
export const LOWER = 2; // \p{Ll} \p{Lm} \p{Lo} \p{M}: may stand in its small part
export const LETTER = 4; // \p{L}
export const NUMBER = 8; // \p{N}
export const SPACE = 16; // \s as in Rust: with U+0085, without U+FEFF
export const NEWLINE = 32; // \r \n
const KNOWN = 64;
const BYTE_ORDER_MARK = 0xfeff;

/** How far to shift what `characterAt` returns to get the length of the character in bytes. */
export const LENGTH_SHIFT = 8;

/** The bits by code point, filled as characters are met; 1.1 MB reserved, of which only the touched pages are used. */
const classes = new Uint8Array(0x110000);

/** The same for ASCII, each with its length of one byte, filled at once. */
const ascii = new Uint16Array(128);
for (let code = 0; code < ascii.length; code++) ascii[code] = classify(code) | (1 << LENGTH_SHIFT);

/**
 * The bits of the UTF-8 character at `position`, plus its length in bytes `<< LENGTH_SHIFT`; 0 at `end`.
 * The bytes must be valid UTF-8, and `position` the first byte of a character.
 */
export function characterAt(bytes: Uint8Array, position: number, end: number): number {
  if (position >= end) return 0;
  const lead = bytes[position] as number;
  return lead < 0x80 ? (ascii[lead] as number) : multibyteAt(bytes, position, lead);
}

function multibyteAt(bytes: Uint8Array, position: number, lead: number): number {
  const second = (bytes[position + 1] as number) & 0x3f;
  if (lead < 0xe0) return classOf(((lead & 0x1f) << 6) | second) | (2 << LENGTH_SHIFT);
  const third = (bytes[position + 2] as number) & 0x3f;
  if (lead < 0xf0) return classOf(((lead & 0x0f) << 12) | (second << 6) | third) | (3 << LENGTH_SHIFT);
  const fourth = (bytes[position + 3] as number) & 0x3f;
  return classOf(((lead & 0x07) << 18) | (second << 12) | (third << 6) | fourth) | (4 << LENGTH_SHIFT);
}

function classOf(codePoint: number): number {
  const known = classes[codePoint] as number;
  return known === 0 ? classify(codePoint) : known;
}

/** Asks the engine's own regular expressions, so that the Unicode version is the one the patterns would run with. */
function classify(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  let bits = KNOWN;
  if (/[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]/u.test(character)) bits |= UPPER;
  if (/[\p{Ll}\p{Lm}\p{Lo}\p{M}]/u.test(character)) bits |= LOWER;
  if (/\p{L}/u.test(character)) bits |= LETTER;
  if (/\p{N}/u.test(character)) bits |= NUMBER;
  if (/[\s\x85]/u.test(character) && codePoint !== BYTE_ORDER_MARK) bits |= SPACE;
  if (/[\r\n]/u.test(character)) bits |= NEWLINE;
  classes[codePoint] = bits;
  return bits;
}
