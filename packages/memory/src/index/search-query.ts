import { isFunctionWord } from './function-words.js';
import { repeated } from './line-terms.js';
import { stem } from './stem.js';
import { indexTermsOf, queryTermsOf } from './terms.js';

/** What a function word of a question counts beside the words that it is about. */
const FUNCTION_WORD_WEIGHT = 0.35;
/** Shorter queries are keywords, whatever the words. */
const MIN_QUESTION_TERMS = 4;
const QUOTED = /"([^"]+)"/g;
// Both look for their match from the beginning of a word alone: a text without any is not gone through again for each letter.
const BEGINNING = /(?<![\p{L}\p{N}_])([\p{L}\p{N}_]+)\*/gu;
/** What has a digit, a separator or a capital within is a name: `src/index.ts`, `E1001`, `getWeather`. */
const NAME = /(?<![^\s"'`(),;])[^\s"'`(),;]*(?:\d|[./_:#-](?=\w)|[a-z](?=[A-Z]))[^\s"'`(),;]*/g;
const MIN_NAME = 3;

/** A stem to look for, or the beginning of one. */
export interface SearchTerm {
  readonly text: string;
  readonly prefix: boolean;
  /** What a match counts beside the others; 1 is usual. */
  readonly weight: number;
}

export interface SearchQuery {
  /** Distinct; none when the query has no word. */
  readonly terms: readonly SearchTerm[];
  /** Full-text expressions of what stood in double quotes. */
  readonly phrases: readonly string[];
  /** Names in lower case, as they were written. */
  readonly names: readonly string[];
  /** A sentence in words: no line needs to have all of them. */
  readonly isQuestion: boolean;
}

/**
 * Any text is a query. `"…"` asks for the words in that order, a `*` behind a word for what begins with it; no other
 * character is an operator.
 */
export function parseQuery(text: string): SearchQuery {
  const beginnings = [...text.matchAll(BEGINNING)].flatMap(([, word = '']) => queryTermsOf(word).slice(-1));
  const isBeginning = new Set(beginnings.map((term) => term.text));
  const found = queryTermsOf(text);
  const isQuestion = found.length >= MIN_QUESTION_TERMS && found.some((term) => isFunctionWord(term.text));
  const terms = new Map<string, SearchTerm>();
  for (const term of found) {
    const prefix = term.prefix || isBeginning.has(term.text);
    const value = prefix ? term.text : stem(term.text);
    const weight = isQuestion && isFunctionWord(term.text) ? FUNCTION_WORD_WEIGHT : 1;
    terms.set(`${value}${prefix ? '*' : ''}`, { text: value, prefix, weight });
  }
  return {
    terms: [...terms.values()],
    phrases: [...text.matchAll(QUOTED)].flatMap(([, words = '']) => phraseOf(words)),
    names: (text.match(NAME) ?? [])
      .filter((name) => name.length >= MIN_NAME)
      .map((name) => name.toLowerCase()),
    isQuestion,
  };
}

/** Whether a term of a line is one that is looked for. */
export function matchesTerm({ text, prefix }: SearchTerm, term: string): boolean {
  return term === text || (prefix && (term.startsWith(text) || term === stem(text)));
}

/**
 * A term as a full-text expression, for lines that have it so often at least. Terms have no quotes: they are letters,
 * digits and underscores.
 */
export function expressionOf({ text, prefix }: SearchTerm, times = 1): string {
  if (!prefix) return `"${repeated(text, times)}"`;
  const whole = stem(text);
  return whole === text ? `"${text}"*` : `("${text}"* OR "${whole}")`;
}

// The last character of an unspaced script begins another pair in a text that goes on.
function phraseOf(words: string): string[] {
  const terms = indexTermsOf(words);
  return terms.length < 2 ? [] : [`"${terms.join(' ')}"*`];
}
