import { Tokenizer } from './tokenizer.js';

/** English words that show how a question is phrased, not its topic, and the parts that an apostrophe separates from them. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  `a about am an and are as at be been being but by can could d did do does doing done for from had has have having he
  her here him his how i if in into is it its ll m may me might mine must my no nor not of on or our out over re s shall
  she should so t than that the their them then there these they this those to up us ve was we were what when where which
  who whom whose why will with would you your yours`.split(/\s+/),
);
/** The weight of a function word in a question. */
const FUNCTION_WORD_WEIGHT = 0.35;
/** Shorter queries are always keywords. */
const MIN_QUESTION_WORDS = 4;
/** Maximum number of distinct words of a query. Enough for a question of some paragraphs. */
const MAX_WORDS = 256;
/** Words joined by a character. A slash separates words, because the names of a path also occur alone. */
const COMPOUND = /(?<![\p{L}\p{N}_])[\p{L}\p{N}_]+(?:[-:#@.][\p{L}\p{N}_]+)+/gu;
/** Distinguishes names such as `node-17` and `app.ts` from words such as `long-term`. */
const IS_NAME = /[\p{N}:#@.]/u;
/** Maximum number of names of a query that are searched as a whole. A match has a bit for each. */
const MAX_NAMES = 16;

/** A term of a query. */
interface SearchTerm {
  readonly text: string;
  /** The weight of a match relative to other terms. The usual weight is 1. */
  readonly weight: number;
  /** `true` for an additional term that is not a word of the query, such as a date. A match of all keywords may lack it. */
  readonly isExtra: boolean;
  /** The names that contain it, a bit each. 0 if it also occurs alone in the query. */
  readonly names: number;
}

/** The terms that a text and a query have in common. */
export interface TermMatch {
  /** The number of occurrences of each query term, by the term's index. `undefined` if no term occurs. */
  readonly counts: readonly number[] | undefined;
  /** Whether the text contains a term about the query's topic. */
  readonly isHit: boolean;
  /** The number of terms of the text. */
  readonly length: number;
  /** The names of the query that the text contains as a whole, a bit each. */
  readonly names: number;
}

/** Options for parsing a query. */
export interface QueryOptions {
  /** Default: a tokenizer that suits most languages. */
  readonly tokenizer?: Tokenizer;
  /** Additional terms. A text can match them through its own additional terms. */
  readonly extra?: readonly string[];
  /** Default: whether the query has at least four words, one of them an English function word. */
  readonly isQuestion?: boolean;
}

const neutral = new Tokenizer();

/** A parsed query. It has no operators. Only the first 256 distinct words count. */
export class SearchQuery {
  /** Distinct. Empty if the query contains no word. */
  readonly terms: readonly SearchTerm[];
  /** Whether the query is a question: no text needs to contain all its words, and the answer may be next to them. */
  readonly isQuestion: boolean;
  /** The weight of the terms about the query's topic. */
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
   * @param extra Terms of the text that do not occur in it.
   * @param terms The terms of the text, or those that are also in the query. Default: computed by the tokenizer.
   * @param length The number of terms in the text. Default: that of `terms`.
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

/** Returns the terms of a text without function words such as `the`. */
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
