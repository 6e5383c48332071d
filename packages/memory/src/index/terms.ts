import { headOf } from '@x/core/internal';
import { stemmer } from 'stemmer';

/** Scripts that are written without spaces between words. */
const UNSPACED = [
  String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆`,
  String.raw`\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`,
].join('');
const RUNS = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}_])+`, 'gu');
const UNSPACED_START = new RegExp(`^[${UNSPACED}]`, 'u');
/** Most text is ASCII, and found out to be so far sooner than the rest is done. */
const IS_ASCII = /^[\0-\x7f]*$/;
const ASCII_RUNS = /[a-zA-Z0-9_]+/g;
const HAS_PARTS = /[\p{Lu}_]/u;
/** `getWeather`, `HTTPServer`, `get_weather`: where the parts of a name meet. */
const PART_BOUNDARY = /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** Longer runs are hashes and encoded bytes; their beginning is enough to find them by. */
const MAX_TERM = 64;

/** Terms of words that were seen, so that those of the common ones are made once. */
const known = new Map<string, readonly string[]>();
const MAX_KNOWN = 50_000;

/** The stem of an English word in lower case (Porter); words of other letters, and short ones, are their own. */
export function stem(word: string): string {
  return /^[a-z]{3,}$/.test(word) ? stemmer(word) : word;
}

/** A term to look for, as {@link indexTermsOf} makes them. */
export interface QueryTerm {
  readonly text: string;
  /** Matches every term that begins with it: a single character of an unspaced script. */
  readonly prefix: boolean;
}

/**
 * The terms by which a text can be found: words by their stems in lower case without diacritics, names also by their parts,
 * and text of unspaced scripts as overlapping pairs of characters, the usual unit for searching them.
 */
export function indexTermsOf(text: string): string[] {
  const terms: string[] = [];
  for (const run of runsOf(text)) for (const term of stemsOf(run)) terms.push(term);
  return terms;
}

/** The terms of one of {@link runsOf}. */
export function stemsOf(run: string): readonly string[] {
  let stems = known.get(run);
  if (stems === undefined) {
    stems = termsOfRun(run).map(stem);
    if (known.size >= MAX_KNOWN) known.clear();
    if (run.length <= MAX_TERM) known.set(run, stems);
  }
  return stems;
}

/** The distinct terms of a query, at most `limit`: so many that a question of some paragraphs is looked for as a whole. */
export function queryTermsOf(query: string, limit = 256): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  for (const run of runsOf(query)) {
    const characters = isUnspaced(run) ? [...run] : [];
    if (characters.length === 0) terms.set(run, { text: fold(run), prefix: false });
    if (characters.length === 1) terms.set(run, { text: run, prefix: true });
    for (let index = 0; index + 1 < characters.length; index++) {
      const text = characters.slice(index, index + 2).join('');
      terms.set(text, { text, prefix: false });
    }
  }
  return [...new Map([...terms.values()].map((term) => [term.text, term])).values()].slice(0, limit);
}

function termsOfRun(run: string): string[] {
  if (isUnspaced(run)) {
    const characters = [...run];
    // The last pair is one character alone, so that every character begins a term.
    return characters.map((character, index) => character + (characters[index + 1] ?? ''));
  }
  const whole = fold(run);
  if (!HAS_PARTS.test(run)) return [whole];
  const parts = run.split(PART_BOUNDARY).filter(Boolean);
  return parts.length > 1 ? [whole, ...parts.map(fold)] : [whole];
}

/** Words, and stretches of unspaced text. */
export function runsOf(text: string): readonly string[] {
  return (IS_ASCII.test(text) ? text.match(ASCII_RUNS) : normalize(text).match(RUNS)) ?? [];
}

function isUnspaced(run: string): boolean {
  return run.charCodeAt(0) > 127 && UNSPACED_START.test(run);
}

// Compatible forms (full-width letters, ligatures) become one; accents go, but not the marks of kana or Hangul.
function normalize(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
}

function fold(word: string): string {
  const term = word.toLowerCase();
  return term.length <= MAX_TERM ? term : [...term].slice(0, MAX_TERM).join('');
}

/** UTF-16 units of a piece. */
const MAX_PIECE = 2_000;

/** A text as it is indexed: longer ones in pieces, cut at a line break or a space where the second half has one. */
export function* piecesOf(text: string): Iterable<string> {
  if (text.length <= MAX_PIECE) {
    if (text.trim() !== '') yield text;
    return;
  }
  for (let rest = text.trim(); rest !== ''; ) {
    const head = headOf(rest, MAX_PIECE);
    const space = Math.max(head.lastIndexOf('\n'), head.lastIndexOf(' '));
    const end = head.length < rest.length && space > MAX_PIECE / 2 ? space : head.length;
    yield rest.slice(0, end);
    rest = rest.slice(end).trimStart();
  }
}
