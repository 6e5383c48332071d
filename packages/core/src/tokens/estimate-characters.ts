import { CYRILLIC_LETTER, MARKED_LETTER, TWICE_MARKED_LETTER } from './estimate-letter-pairs.js';

/** Classes of UTF-16 units for the estimate, as one byte. */
export const SYMBOL = 0; // beyond ASCII, neither letter nor space; a surrogate
export const DRAWING = 1; // box drawing and blocks
export const PUNCTUATION = 2; // ASCII
export const RULER = 3; // ASCII punctuation of which long runs are one token
export const DIGIT = 4;
export const SPACE = 5;
const BLANK = 6; // white space but the space and line breaks
export const NEWLINE = 7;
/** From here on scripts, `SCRIPTS[byte - FIRST_SCRIPT]`. */
export const FIRST_SCRIPT = 8;
/** From here on small letters of the alphabets that have letter pairs, from {@link CAPITAL} on their capitals. */
export const SMALL = 64;
export const CAPITAL = 128;
/** The bits of a letter's number in its alphabet. */
export const LETTER_MASK = 63;

/** A script without letter pairs: a run of n characters is `base + perCharacter * n` tokens, and at least one. */
interface Script {
  readonly from: number;
  readonly to: number;
  readonly base: number;
  readonly perCharacter: number;
}

// Fitted like the letter pairs. A later range overrides an earlier one.
export const SCRIPTS: readonly Script[] = [
  { from: 0x0530, to: 0x1fff, base: 0, perCharacter: 1.8 }, // scripts that o200k_base spells byte by byte
  { from: 0x2c00, to: 0x2dff, base: 0, perCharacter: 1.8 },
  { from: 0x3400, to: 0x4dbf, base: 0, perCharacter: 1.8 }, // Han, extension A
  { from: 0xa000, to: 0xabff, base: 0, perCharacter: 1.8 },
  { from: 0xfb00, to: 0xfdff, base: 0, perCharacter: 1.2 },
  { from: 0xfe70, to: 0xfeff, base: 0, perCharacter: 1.2 },
  { from: 0x0370, to: 0x03ff, base: -0.05, perCharacter: 0.4 }, // Greek
  { from: 0x1f00, to: 0x1fff, base: 0, perCharacter: 1.2 }, // Greek, polytonic
  { from: 0x0530, to: 0x058f, base: 0.6, perCharacter: 0.27 }, // Armenian
  { from: 0x0590, to: 0x05ff, base: 0.38, perCharacter: 0.385 }, // Hebrew
  { from: 0x0600, to: 0x06ff, base: -0.45, perCharacter: 0.46 }, // Arabic
  { from: 0x0900, to: 0x097f, base: -0.4, perCharacter: 0.45 }, // Devanagari
  { from: 0x0980, to: 0x09ff, base: 0, perCharacter: 0.39 }, // Bengali
  { from: 0x0a00, to: 0x0a7f, base: 0.17, perCharacter: 0.6 }, // Gurmukhi
  { from: 0x0a80, to: 0x0aff, base: 0.24, perCharacter: 0.4 }, // Gujarati
  { from: 0x0b80, to: 0x0bff, base: 0.16, perCharacter: 0.35 }, // Tamil
  { from: 0x0c00, to: 0x0c7f, base: 0.15, perCharacter: 0.47 }, // Telugu
  { from: 0x0c80, to: 0x0cff, base: 0.6, perCharacter: 0.34 }, // Kannada
  { from: 0x0d00, to: 0x0d7f, base: 0.6, perCharacter: 0.3 }, // Malayalam
  { from: 0x0d80, to: 0x0dff, base: -0.4, perCharacter: 0.74 }, // Sinhala
  { from: 0x0e00, to: 0x0e7f, base: 0.13, perCharacter: 0.404 }, // Thai
  { from: 0x1000, to: 0x109f, base: 0.6, perCharacter: 0.5 }, // Burmese
  { from: 0x10a0, to: 0x10ff, base: 0.385, perCharacter: 0.314 }, // Georgian
  { from: 0x1780, to: 0x17ff, base: -0.9, perCharacter: 0.64 }, // Khmer
  { from: 0x3040, to: 0x309f, base: 0, perCharacter: 0.51 }, // Hiragana
  { from: 0x30a0, to: 0x30ff, base: 0.19, perCharacter: 0.57 }, // Katakana
  { from: 0xac00, to: 0xd7ff, base: 0.6, perCharacter: 0.5 }, // Hangul
  { from: 0x4e00, to: 0x9fff, base: 0.55, perCharacter: 0.65 }, // Han
];
export const HAN = FIRST_SCRIPT + SCRIPTS.length - 1;
/** A Han character that only the traditional script has: its compounds share fewer tokens. */
export const TRADITIONAL_HAN = HAN + 1;
export const TRADITIONAL_PER_CHARACTER = 0.98;

const TRADITIONAL =
  '這個們來時國會說對後過還開學見長問經無與從將應該給讓認話語書電動種現點實當業質為於設變參數類檔執資訊' +
  '選項頁處線連結發機關東車門馬員體樣氣愛聽寫讀買賣錢歲親頭兩萬幾難嗎';

/** Tokens of a character of ASCII punctuation that stands right before a word: some nearly always share a token with it. */
export function joinedTokens(): Float32Array {
  const tokens = new Float32Array(0x80).fill(0.75);
  for (const character of "-/=#,'&") tokens[character.charCodeAt(0)] = 0.4;
  for (const character of '._(') tokens[character.charCodeAt(0)] = 0.05;
  return tokens;
}

/** One byte for every UTF-16 unit. */
export function characterKinds(): Uint8Array {
  const kinds = new Uint8Array(0x10000).fill(SYMBOL);
  const set = (characters: string, kind: number) => {
    for (const character of characters) kinds[character.charCodeAt(0)] = kind;
  };
  kinds.fill(DRAWING, 0x2500, 0x25a0);
  kinds.fill(PUNCTUATION, 0, 0x80);
  set('=-*#_./~+', RULER);
  set('0123456789', DIGIT);
  set(' ', SPACE);
  set('\t\v\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff', BLANK);
  kinds.fill(BLANK, 0x2000, 0x200b);
  set('\n\r', NEWLINE);
  for (const [index, { from, to }] of SCRIPTS.entries()) kinds.fill(FIRST_SCRIPT + index, from, to + 1);
  set(TRADITIONAL, TRADITIONAL_HAN);
  for (let unit = 0x41; unit <= 0x5a; unit++) setLetter(kinds, unit, unit - 0x41);
  for (let unit = 0x61; unit <= 0x7a; unit++) setLetter(kinds, unit, unit - 0x61);
  for (let unit = 0xc0; unit < 0x250; unit++) setLetter(kinds, unit, MARKED_LETTER);
  for (let unit = 0x250; unit < 0x370; unit++) setLetter(kinds, unit, TWICE_MARKED_LETTER);
  for (let unit = 0x1e00; unit < 0x1f00; unit++) setLetter(kinds, unit, TWICE_MARKED_LETTER);
  for (let unit = 0x400; unit < 0x530; unit++) setLetter(kinds, unit, cyrillicLetter(unit));
  set('ªµº', SMALL + MARKED_LETTER);
  set('×÷', SYMBOL);
  return kinds;
}

function setLetter(kinds: Uint8Array, unit: number, letter: number): void {
  const character = String.fromCharCode(unit);
  kinds[unit] = (character === character.toLowerCase() ? SMALL : CAPITAL) + letter;
}

function cyrillicLetter(unit: number): number {
  const small = String.fromCharCode(unit).toLowerCase().charCodeAt(0);
  const first = 0x430; // а
  if (small >= first && small < first + 32) return CYRILLIC_LETTER + small - first;
  return CYRILLIC_LETTER + (small === 0x451 ? 5 : 32); // ё counts as е
}
