import { Tokenizer } from './tokenizer.js';

/** English words that say how a question is put, not what it is about, and what an apostrophe leaves of them. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  `a about am an and are as at be been being but by can could d did do does doing done for from had has have having he
  her here him his how i if in into is it its ll m may me might mine must my no nor not of on or our out over re s shall
  she should so t than that the their them then there these they this those to up us ve was we were what when where which
  who whom whose why will with would you your yours`.split(/\s+/),
);
/** The weight of a function word in a question. */
const FUNCTION_WORD_WEIGHT = 0.35;
/** Shorter queries are keywords, whatever their words are. */
const MIN_QUESTION_WORDS = 4;
/** Different words of a query that are looked for. A question of some paragraphs fits. */
const MAX_WORDS = 256;
/** Words that are joined by a sign. A slash separates words, because the names of a path also occur alone. */
const COMPOUND = /(?<![\p{L}\p{N}_])[\p{L}\p{N}_]+(?:[-:#@.][\p{L}\p{N}_]+)+/gu;
/** Tells `node-17` and `app.ts`, which are names, from `long-term`. */
const IS_NAME = /[\p{N}:#@.]/u;
/** Names of a query that are looked for as a whole. A match holds a bit for each. */
const MAX_NAMES = 16;

/** A term to look for. */
interface SearchTerm {
  readonly text: string;
  /** What a match counts compared with the other terms. 1 is usual. */
  readonly weight: number;
  /** A term that no word of the query stands for, such as a date. A match of all keywords may lack it. */
  readonly isExtra: boolean;
  /** The names that it belongs to, a bit each. 0 if it also occurs alone in the query. */
  readonly names: number;
}

/** What a text and a query have in common. */
export interface TermMatch {
  /** How often each term of the query occurs, by its index. `undefined` if none does. */
  readonly counts: readonly number[] | undefined;
  /** Whether it has a term that says what the query is about. */
  readonly isHit: boolean;
  /** The number of terms of the text. */
  readonly length: number;
  /** The names of the query that the text has as a whole, a bit each. */
  readonly names: number;
}

/** How a query is read. */
export interface QueryOptions {
  /** Default: one that suits most languages. */
  readonly tokenizer?: Tokenizer;
  /** More terms, which a match may have without having them in its text. */
  readonly extra?: readonly string[];
  /** Default: whether the query has at least four words, one of them an English function word. */
  readonly isQuestion?: boolean;
}

const neutral = new Tokenizer();

/** A text to search for. Nothing in it is an operator. Of more than 256 different words the first count. */
export class SearchQuery {
  /** Distinct. Empty if the query has no word. */
  readonly terms: readonly SearchTerm[];
  /** A question in words: no text needs to have all of them, and the answer may stand next to them. */
  readonly isQuestion: boolean;
  /** The weight of the terms that say what the query is about. */
  readonly mostWeight: number;
  readonly #tokenizer: Tokenizer;
  readonly #names: readonly RegExp[];
  readonly #indexes: ReadonlyMap<string, number>;

  constructor(text: string, { tokenizer = neutral, extra = [], isQuestion }: QueryOptions = {}) {
    const words = [...tokenizer.query(text)].slice(0, MAX_WORDS);
    this.isQuestion = isQuestion ?? (words.length >= MIN_QUESTION_WORDS && words.some(isFunctionWord));
    const names = [...new Set(text.match(COMPOUND))].filter((name) => IS_NAME.test(name)).slice(0, MAX_NAMES);
    const alone = tokenizer.query(text.replaceAll(COMPOUND, (name) => (names.includes(name) ? ' ' : name)));
    const parts = names.map((name) => tokenizer.query(name));
    const terms = new Map<string, SearchTerm>();
    for (const word of words) {
      const [written, term] = word;
      const owners = alone.has(written) ? 0 : bitsOf(parts, (part) => part.has(written));
      const weight = this.isQuestion && isFunctionWord(word) ? FUNCTION_WORD_WEIGHT : 1;
      terms.set(term, { text: term, weight, isExtra: false, names: owners });
    }
    for (const term of extra) terms.set(term, { text: term, weight: 1, isExtra: true, names: 0 });
    this.terms = [...terms.values()];
    this.#tokenizer = tokenizer;
    this.#names = names.map(wholeName);
    this.#indexes = new Map(this.terms.map((term, index) => [term.text, index]));
    this.mostWeight = Math.max(...this.terms.map(({ weight }) => weight));
  }

  /**
   * Compares a text with the query.
   *
   * @param extra Terms that it has without having them in its text.
   * @param terms The terms of the text, or those of them that the query has. Default: the tokenizer's.
   * @param length The number of terms of the text. Default: that of `terms`.
   */
  match(
    text: string,
    extra: readonly string[] = [],
    terms = this.#tokenizer.terms(text),
    length = terms.length,
  ): TermMatch {
    let counts: number[] | undefined;
    let isHit = false;
    for (const list of [terms, extra]) {
      for (const term of list) {
        const index = this.#indexes.get(term);
        if (index === undefined) continue;
        counts ??= this.terms.map(() => 0);
        counts[index] = (counts[index] as number) + 1;
        isHit ||= this.terms[index]?.weight === this.mostWeight;
      }
    }
    const names = isHit ? bitsOf(this.#names, (name) => name.test(text)) : 0;
    return { counts, isHit, length, names };
  }
}

/** Returns the terms of a text that say what it is about. */
export function contentTermsOf(text: string, tokenizer: Tokenizer): ReadonlySet<string> {
  const words = [...tokenizer.query(text)].filter((word) => !isFunctionWord(word));
  return new Set(words.map(([, term]) => term));
}

function isFunctionWord([word]: readonly [word: string, term: string]): boolean {
  return FUNCTION_WORDS.has(word);
}

/** Sets a bit for each item that passes a test. */
function bitsOf<T>(items: readonly T[], passes: (item: T) => boolean): number {
  return items.reduce((bits, item, at) => bits | (Number(passes(item)) << at), 0);
}

/** Returns a pattern for a name that is not part of a longer name. */
function wholeName(name: string): RegExp {
  const before = '(?<![\\p{L}\\p{N}]|[\\p{L}\\p{N}][-_])';
  return new RegExp(`${before}${name.replaceAll('.', '\\.')}(?![\\p{L}\\p{N}]|[-_][\\p{L}\\p{N}])`, 'iu');
}
