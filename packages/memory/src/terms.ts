/** Scripts that are written without spaces between words. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆`;
const RUNS = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}_])+`, 'gu');
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u');
/** `getWeather`, `HTTPServer`, `get_weather`: where the parts of a name meet. */
const PART_BOUNDARY = /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** Longer runs are hashes and encoded bytes; their beginning is enough to find them by. */
const MAX_TERM = 64;

/** A term to look for. */
export interface QueryTerm {
  readonly text: string;
  /** Matches every term that begins with it: a single character of an unspaced script. */
  readonly prefix: boolean;
}

/**
 * The terms by which a text can be found: words in lower case without diacritics, names also by their parts, and text of
 * unspaced scripts (Chinese, Japanese, Korean) as overlapping pairs of characters, the usual unit for searching them.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const [run] of normalize(text).matchAll(RUNS)) {
    if (IS_UNSPACED.test(run)) {
      const characters = [...run];
      // The last pair is one character alone, so that every character begins a term.
      for (let index = 0; index < characters.length; index++) {
        terms.push(characters.slice(index, index + 2).join(''));
      }
      continue;
    }
    terms.push(fold(run));
    const parts = run.split(PART_BOUNDARY).filter(Boolean);
    if (parts.length > 1) terms.push(...parts.map(fold));
  }
  return terms;
}

/** The distinct terms of a query, at most `limit`. */
export function queryTermsOf(query: string, limit = 32): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  for (const [run] of normalize(query).matchAll(RUNS)) {
    const characters = IS_UNSPACED.test(run) ? [...run] : [];
    if (characters.length === 0) terms.set(run, { text: fold(run), prefix: false });
    if (characters.length === 1) terms.set(run, { text: run, prefix: true });
    for (let index = 0; index + 1 < characters.length; index++) {
      const text = characters.slice(index, index + 2).join('');
      terms.set(text, { text, prefix: false });
    }
  }
  return [...new Map([...terms.values()].map((term) => [term.text, term])).values()].slice(0, limit);
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
