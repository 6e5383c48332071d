import { isTimeToRest, type Work } from '@x/core/internal';
import type { Entry } from './entry.js';
import type { Terms } from './terms.js';

/** Something that may enter a record. */
export interface Candidate {
  readonly entry: Entry;
  readonly terms: Terms;
  readonly worth: number;
  /** In tokens. */
  readonly cost: number;
  /** It says little without the excerpt in front of it. */
  readonly leans?: boolean;
}

/** The terms of one message, which say what others are worth. */
export interface Saying {
  readonly at: number;
  readonly terms: Terms;
  /** Its speaker: a user, the assistant, or a tool. */
  readonly by: 'user' | 'assistant' | 'tool';
}

/** Factors of a term's weight. Chosen on recorded conversations; none is sharp. */
const WEIGHT = {
  /** For a term that no user and no assistant says. */
  unused: 0.1,
  /** Added for each message of the assistant that uses it, up to `mostUses`; a user's counts twice. */
  use: 0.5,
  mostUses: 3,
  /** The message of the assistant that says a term first is no use of it yet. */
  firstUse: 0.25,
  /** For a term that an earlier message said: it belongs to the message that it comes from. */
  old: 0.3,
  /** For a term in more than this share of all messages, whatever else is true of it. */
  common: 0.05,
  commonShare: 0.3,
  /** For a term that stands somewhere already. */
  again: 0.15,
  /** For a term of the open request, wherever it stands. */
  wanted: 1,
  /**
   * For each further excerpt of one message, and for each further one that differs in names and numbers alone. On either
   * half of the recorded projects 1 is worse for the first, and 0.65 no better.
   */
  more: 0.8,
  alike: 0.5,
};

/** The share that what the assistant said may have: an assistant that talks a lot must not crowd out what it found. */
const STATEMENTS_SHARE = 0.4;

/** The factor by which the least gain falls from one pass over the candidates to the next, and passes at most. */
const STEP = 0.95;
/** After so many candidates the work may rest. */
const REST = 256;
const MOST_PASSES = 150;

/** Below 1, long excerpts are preferred a little: they keep together what belongs together. */
const COST_EXPONENT = 0.9;

/**
 * Chooses candidates that together hold as much as can be of what the conversation relied on later. Greedy maximization
 * of a submodular coverage (Nemhauser, Wolsey and Fisher 1978; for summaries Lin and Bilmes 2011) by falling thresholds
 * (Badanidiyuru and Vondrák 2014): a term counts fully once, more when it is rare, when it was new where it stands, and when the assistant
 * or the user came back to it.
 */
export class Choice<Item extends Candidate> {
  /** The best first. */
  readonly chosen: Item[] = [];
  readonly #candidates: readonly Item[];
  readonly #vocabulary: Vocabulary;
  /** The terms of all candidates as indices of the vocabulary, and where those of each begin. */
  readonly #terms: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #covered: Uint8Array;
  readonly #wanted: Uint8Array;
  readonly #taken = new Map<number | string, number>();
  /** By candidate, at most what choosing it would gain: gains only fall. Nothing for a chosen one. */
  readonly #gains: Float64Array;
  readonly #least: number;
  #left = 0;
  #forStatements = 0;

  private constructor(candidates: readonly Item[], vocabulary: Vocabulary) {
    this.#candidates = candidates;
    this.#vocabulary = vocabulary;
    this.#covered = new Uint8Array(vocabulary.size);
    this.#wanted = new Uint8Array(vocabulary.size);
    this.#starts = new Uint32Array(candidates.length + 1);
    for (const [index, { terms }] of candidates.entries())
      this.#starts[index + 1] = (this.#starts[index] as number) + terms.length;
    this.#terms = new Uint32Array(this.#starts.at(-1) ?? 0);
    this.#least = candidates.reduce((least, { cost }) => Math.min(least, cost), Number.POSITIVE_INFINITY);
    this.#gains = new Float64Array(candidates.length);
  }

  /**
   * Weighs candidates by what was said.
   *
   * @param standing Terms that the reader sees anyway.
   * @param wanted Terms of the open request: every line that has one may be what it asks for, however often they stand.
   */
  static *among<Item extends Candidate>(
    candidates: readonly Item[],
    sayings: readonly Saying[],
    standing: Iterable<Terms>,
    wanted: Terms,
  ): Work<Choice<Item>> {
    const choice = new Choice(candidates, yield* Vocabulary.of(sayings));
    for (const term of wanted) choice.#wanted[choice.#vocabulary.index(term)] = 1;
    yield* choice.#weigh(standing);
    return choice;
  }

  *#weigh(standing: Iterable<Terms>): Work<void> {
    const vocabulary = this.#vocabulary;
    for (const terms of standing) {
      for (const term of terms) this.#covered[vocabulary.index(term)] = 1;
      if (isTimeToRest()) yield;
    }
    for (let index = 0; index < this.#candidates.length; index += REST) {
      this.#weighSome(index, Math.min(index + REST, this.#candidates.length));
      yield;
    }
  }

  #weighSome(start: number, end: number): void {
    for (let index = start; index < end; index++) {
      const { terms } = this.#candidates[index] as Item;
      const first = this.#starts[index] as number;
      for (let place = 0; place < terms.length; place++)
        this.#terms[first + place] = this.#vocabulary.index(terms[place] as number);
      this.#gains[index] = this.#gain(index);
    }
  }

  /** Chooses more, of at most so many tokens beside those that are left. */
  *take(tokens: number): Work<void> {
    this.#left += tokens;
    this.#forStatements += tokens * STATEMENTS_SHARE;
    const misfits = new Uint8Array(this.#candidates.length);
    const gains = this.#gains;
    let least = gains.reduce((most, gain) => Math.max(most, gain), 0);
    for (let pass = 0; pass < MOST_PASSES && this.#left >= this.#least; pass++) {
      least *= STEP;
      yield;
      this.#takeFrom(least, misfits);
    }
  }

  /** Chooses whatever gains so much, and fits. */
  #takeFrom(least: number, misfits: Uint8Array): void {
    const gains = this.#gains;
    for (let index = 0; index < gains.length; index++) {
      if ((gains[index] as number) < least || misfits[index]) continue;
      // What was chosen since may have taken from it.
      const gain = this.#gain(index);
      gains[index] = gain;
      if (gain < least) continue;
      if (!this.#fits(index)) misfits[index] = 1;
      else {
        this.#choose(index);
        // A sentence says little, or something else, without the one in front of it.
        if (this.#leansOnThePrevious(index) && gains[index - 1] !== 0 && this.#fits(index - 1))
          this.#choose(index - 1);
      }
    }
  }

  #leansOnThePrevious(index: number): boolean {
    const { leans, entry } = this.#candidates[index] as Item;
    return leans === true && this.#candidates[index - 1]?.entry.at === entry.at;
  }

  #fits(index: number): boolean {
    const { entry, cost } = this.#candidates[index] as Item;
    return cost <= this.#left && (entry.kind !== 'said' || cost <= this.#forStatements);
  }

  #choose(index: number): void {
    const candidate = this.#candidates[index] as Item;
    const { entry, cost } = candidate;
    this.#gains[index] = 0;
    this.chosen.push(candidate);
    this.#left -= cost;
    if (entry.kind === 'said') this.#forStatements -= cost;
    const end = this.#starts[index + 1] as number;
    for (let place = this.#starts[index] as number; place < end; place++)
      this.#covered[this.#terms[place] as number] = 1;
    for (const key of [entry.at, shapeOf(entry)]) this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
  }

  #gain(index: number): number {
    const candidate = this.#candidates[index] as Item;
    const { entry, worth, cost } = candidate;
    let sum = 0;
    const end = this.#starts[index + 1] as number;
    for (let place = this.#starts[index] as number; place < end; place++) {
      const term = this.#terms[place] as number;
      const weight = this.#vocabulary.weight(term, entry.at);
      if (this.#wanted[term]) sum += weight * WEIGHT.wanted;
      else sum += this.#covered[term] ? weight * WEIGHT.again : weight;
    }
    const gain = (sum * worth) / cost ** COST_EXPONENT;
    const more = this.#taken.get(entry.at);
    if (more === undefined) return gain;
    return gain * WEIGHT.more ** more * WEIGHT.alike ** (this.#taken.get(shapeOf(entry)) ?? 0);
  }
}

/** A message and a text without its numbers and names: rows of one table have the same. */
function shapeOf(entry: Entry): string {
  const text = 'text' in entry ? entry.text : '';
  return `${entry.at} ${text.slice(0, 80).replaceAll(/[\p{L}\p{N}_]+/gu, 'w')}`;
}

/** The terms of a conversation with their weights. Index 0 is for terms that no message has. */
class Vocabulary {
  readonly #indices: ReadonlyMap<number, number>;
  /** By index: what the term counts where it was new, and the number of the message that it was new in. */
  readonly #weights: Float64Array;
  readonly #first: readonly number[];

  private constructor(indices: ReadonlyMap<number, number>, weights: Float64Array, first: readonly number[]) {
    this.#indices = indices;
    this.#weights = weights;
    this.#first = first;
  }

  static *of(sayings: readonly Saying[]): Work<Vocabulary> {
    const indices = new Map<number, number>();
    const first: number[] = [0];
    const inMessages: number[] = [0];
    const uses: number[] = [0];
    const add = ({ at, terms, by }: Saying) => {
      const use = by === 'user' ? 2 : by === 'assistant' ? 1 : 0;
      for (let place = 0; place < terms.length; place++) {
        const term = terms[place] as number;
        const index = indices.get(term);
        if (index === undefined) {
          indices.set(term, first.length);
          first.push(at);
          inMessages.push(1);
          uses.push(by === 'assistant' ? WEIGHT.firstUse : use);
        } else {
          inMessages[index] = (inMessages[index] as number) + 1;
          uses[index] = (uses[index] as number) + use;
        }
      }
    };
    for (const saying of sayings) {
      add(saying);
      if (isTimeToRest()) yield;
    }
    const weights = Float64Array.from(inMessages, (among, index) => {
      const rarity = Math.log(1 + sayings.length / Math.max(1, among));
      const used = uses[index] as number;
      const use = used > 0 ? 1 + Math.min(WEIGHT.mostUses, used) * WEIGHT.use : WEIGHT.unused;
      return among > sayings.length * WEIGHT.commonShare ? WEIGHT.common : rarity * use;
    });
    return new Vocabulary(indices, weights, first);
  }

  get size(): number {
    return this.#first.length;
  }

  index(term: number): number {
    return this.#indices.get(term) ?? 0;
  }

  weight(index: number, at: number): number {
    const weight = this.#weights[index] as number;
    return this.#first[index] === at ? weight : weight * WEIGHT.old;
  }
}
