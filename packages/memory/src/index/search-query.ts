import { datesIn, dateTermsOf } from './dates.js';
import { type QueryTerm, queryTermsOf, runsOf, stem, stemsOf } from './terms.js';

/** English words that say how a question is put, not what it is about; and what an apostrophe leaves of them. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  `a about am an and are as at be been being but by can could d did do does doing done for from had has have having he
  her here him his how i if in into is it its ll m may me might mine must my no nor not of on or our out over re s shall
  she should so t than that the their them then there these they this those to up us ve was we were what when where which
  who whom whose why will with would you your yours`.split(/\s+/),
);
/** The weight of a function word in a question. */
const FUNCTION_WORD_WEIGHT = 0.35;
/** Shorter queries are keywords, whatever the words. */
const MIN_QUESTION_TERMS = 4;
/** What has a digit, a separator or a capital within is a name: `src/index.ts`, `E1001`. Begins with a word, to be fast. */
const NAME = /(?<![^\s"'`(),;])[^\s"'`(),;]*(?:\d|[./_:#-](?=\w)|[a-z](?=[A-Z]))[^\s"'`(),;]*/g;
const MIN_NAME = 3;
const MAX_CONTENT_TERMS = 2_000;

/** A stem to look for, a character that terms begin with, or a date, which matches the day of a line and not its text. */
export interface SearchTerm extends QueryTerm {
  readonly isDate: boolean;
  /** What a match counts beside the others; 1 is usual. */
  readonly weight: number;
}

export interface SearchQuery {
  /** Distinct; none when the query has no word. */
  readonly terms: readonly SearchTerm[];
  /** Names in lower case, as they were written. */
  readonly names: readonly string[];
  /** A sentence in words: no line needs to have all of them. */
  readonly isQuestion: boolean;
}

/** What a text and a query have in common. */
export interface TermMatch {
  /** How often each term of the query occurs. */
  readonly frequencies: readonly number[];
  /** Whether it has a term that says what the query is about. */
  readonly isHit: boolean;
  /** Terms of the text. */
  readonly length: number;
  /** The share of the query's names that the text literally has. */
  readonly names: number;
}

/** Any text is a query, without operators. A date finds what was said on that day. */
export function parseQuery(text: string): SearchQuery {
  const found = queryTermsOf(text);
  const isQuestion =
    found.length >= MIN_QUESTION_TERMS && found.some((term) => FUNCTION_WORDS.has(term.text));
  const terms = new Map<string, SearchTerm>();
  for (const { text: word, prefix } of found) {
    const weight = isQuestion && FUNCTION_WORDS.has(word) ? FUNCTION_WORD_WEIGHT : 1;
    terms.set(stem(word), { text: stem(word), prefix, isDate: false, weight });
  }
  for (const date of datesIn(text.slice(0, 1_000))) {
    terms.set(date, { text: date, prefix: false, isDate: true, weight: 1 });
  }
  const names = (text.match(NAME) ?? []).filter((name) => name.length >= MIN_NAME);
  return { terms: [...terms.values()], names: names.map((name) => name.toLowerCase()), isQuestion };
}

/** The stems of a text that say what it is about. */
export function contentTermsOf(text: string): ReadonlySet<string> {
  return new Set(
    queryTermsOf(text, MAX_CONTENT_TERMS)
      .filter((term) => !FUNCTION_WORDS.has(term.text))
      .map((term) => stem(term.text)),
  );
}

/** Compares texts with one query. */
export class TermMatcher {
  readonly #query: SearchQuery;
  readonly #mostWeight: number;
  readonly #exact = new Map<string, number>();
  readonly #beginnings: (readonly [text: string, index: number])[] = [];

  constructor(query: SearchQuery) {
    this.#query = query;
    this.#mostWeight = Math.max(...query.terms.map(({ weight }) => weight));
    for (const [index, { text, prefix }] of query.terms.entries()) {
      if (prefix) this.#beginnings.push([text, index]);
      else this.#exact.set(text, index);
    }
  }

  match(text: string, day: number | null): TermMatch {
    let length = 0;
    const frequencies = this.#query.terms.map(() => 0);
    let isHit = false;
    const count = (index: number | undefined) => {
      if (index === undefined) return;
      frequencies[index] = (frequencies[index] ?? 0) + 1;
      isHit ||= this.#query.terms[index]?.weight === this.#mostWeight;
    };
    for (const run of runsOf(text)) {
      for (const term of stemsOf(run)) {
        length++;
        count(this.#exact.get(term));
        for (const [beginning, index] of this.#beginnings) if (term.startsWith(beginning)) count(index);
      }
    }
    for (const date of dateTermsOf(day)) count(this.#exact.get(date));
    const { names } = this.#query;
    const lower = names.length === 0 || !isHit ? '' : text.toLowerCase();
    const named = names.filter((name) => lower.includes(name)).length / Math.max(1, names.length);
    return { frequencies, length, isHit, names: named };
  }
}
