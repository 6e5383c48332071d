/** Scripts that are written without spaces between words. */
const UNSPACED = [
  String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆`,
  String.raw`\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`,
].join('');
const RUNS = new RegExp(`[${UNSPACED}]+|[[\\p{L}\\p{M}\\p{N}_]--[${UNSPACED}]]+`, 'gv');
const UNSPACED_START = new RegExp(`^[${UNSPACED}]`, 'u');
/** Matches texts that consist of ASCII and characters that are not part of any word: punctuation, arrows, mathematical signs, boxes. */
const PLAIN = /^[\0-\x7f§«·»×\u2010-\u2027\u2030-\u205e\u2190-\u2426\u2500-\u2775\u2794-\u2bff]*$/;
const ASCII_RUNS = /[a-zA-Z0-9_]+/g;
const HAS_PARTS = /[\p{Lu}_]/u;
/** The boundaries inside `getWeather`, `HTTPServer` and `get_weather`. */
const PART_BOUNDARY = /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** Maximum length of a term. Longer words are hashes and encoded bytes, which can be found by their beginning. */
const MAX_TERM = 64;
/** Number of words whose terms are cached, so that common words are split and stemmed once. */
const MAX_KNOWN = 50_000;
/** Number of letters that the default stem keeps of a word. */
const STEM = 5;

/**
 * Splits text into search terms: stems of words in lower case without diacritics. A name such as `getWeather` also yields its parts.
 * Scripts without spaces between words yield characters and pairs of characters.
 *
 * @example
 * new Tokenizer((word) => word).terms('Ask getWeather'); // ['ask', 'getweather', 'get', 'weather']
 */
export class Tokenizer {
  readonly #stem: (word: string) => string;
  readonly #known = new Map<string, readonly string[]>();

  /**
   * @param stem Maps the forms of a word to one term. It is called with a word in lower case. Default: the first five letters
   * of a word, which suits most languages.
   */
  constructor(stem: (word: string) => string = beginningOf) {
    this.#stem = stem;
  }

  /** Returns the terms of a text in order, once per occurrence. */
  terms(text: string): readonly string[] {
    const terms: string[] = [];
    for (const run of runsOf(text)) {
      let known = this.#known.get(run);
      if (known === undefined) {
        known = wordsOf(run).map(this.#stem);
        if (this.#known.size >= MAX_KNOWN) this.#known.clear();
        if (run.length <= MAX_TERM) this.#known.set(run, known);
      }
      for (const term of known) terms.push(term);
    }
    return terms;
  }

  /** Returns the distinct words of a query, each with the term to look for. */
  query(text: string): ReadonlyMap<string, string> {
    return new Map(wordsIn(text).map((word) => [word, this.#stem(word)]));
  }
}

/**
 * Returns the distinct words of a text in lower case. Names are not split. Text in unspaced scripts yields pairs of characters, or the
 * character if there is only one.
 */
export function wordsIn(text: string): readonly string[] {
  const words = new Set<string>();
  for (const run of new Set(runsOf(text))) {
    const pairs = isUnspaced(run) ? wordsOf(run).filter((word) => [...word].length > 1) : [];
    if (pairs.length === 0) words.add(fold(run));
    for (const pair of pairs) words.add(pair);
  }
  return [...words];
}

function beginningOf(word: string): string {
  return word.length > STEM && /^\p{L}+$/u.test(word) ? word.slice(0, STEM) : word;
}

/** Tests if all words of a text are ASCII. Most texts are, and splitting them is several times faster. */
export const hasPlainWords = (text: string): boolean => PLAIN.test(text);

/** Returns the words, and the runs of unspaced text. */
function runsOf(text: string): readonly string[] {
  return (hasPlainWords(text) ? text.match(ASCII_RUNS) : normalize(text).match(RUNS)) ?? [];
}

function wordsOf(run: string): readonly string[] {
  if (isUnspaced(run)) {
    const characters = [...run];
    return characters.flatMap((character, index) => {
      const next = characters[index + 1];
      return next === undefined ? character : [character, character + next];
    });
  }
  const whole = fold(run);
  const parts = HAS_PARTS.test(run) ? run.split(PART_BOUNDARY).filter(Boolean) : [];
  return parts.length > 1 ? [whole, ...parts.map(fold)] : [whole];
}

function isUnspaced(run: string): boolean {
  return run.charCodeAt(0) > 127 && UNSPACED_START.test(run);
}

// Converts compatible forms (full-width letters, ligatures) to one. Removes accents, but not the marks of kana or Hangul.
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
