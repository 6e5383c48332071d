import { isTimeToRest, memoize, type Work } from '@x/core/internal';
import type { Entry } from './entry.js';
import type { Terms } from './terms.js';

/** An entry that may be chosen for a record, such as an excerpt of a message. */
export interface Candidate {
  readonly entry: Entry;
  readonly terms: Terms;
  /** Multiplies the candidate's gain: see {@link Choice}. */
  readonly worth: number;
  /** In tokens. */
  readonly cost: number;
  /** `true` if the candidate is hard to understand without the previous candidate. */
  readonly leans?: boolean;
}

/** The terms of one message, from which the weights of terms are computed. */
export interface Utterance {
  /** The number of the message. */
  readonly at: number;
  readonly terms: Terms;
  /** The author of the message. */
  readonly by: 'user' | 'assistant' | 'tool';
}

/**
 * Factors of a term's weight and of a candidate's gain. They were tuned on recorded conversations; small changes make little difference.
 */
const WEIGHT = {
  /** For a term that neither a user nor the assistant uses. */
  unused: 0.1,
  /** Each use of a term adds this to a factor that begins at 1. A user message counts as two uses, an assistant message as one. */
  use: 0.5,
  /** Further uses add nothing. */
  mostUses: 3,
  /** An assistant message that introduces a term counts as this many uses. */
  firstUse: 0.25,
  /** For a term that is in a message before the candidate's message. */
  old: 0.3,
  /** Replaces rarity and uses, for a term that occurs in more than `commonShare` of all messages. */
  common: 0.05,
  commonShare: 0.3,
  /** For a term that is already covered. */
  again: 0.15,
  /** For a term of the open request, even if the term is already covered. */
  wanted: 1,
  /** For the gain, once per chosen candidate of the same message. With 1, records were worse; 0.65 was not better. */
  more: 0.8,
  /** For the gain, once per chosen candidate of the same message and shape: see {@link shapeOf}. */
  alike: 0.5,
};

/** The factor by which the gain threshold falls before each pass over the candidates. */
const STEP = 0.95;
const MAX_PASSES = 150;
/** Number of passes between two selections. A selection lists the few candidates that may be chosen in the next passes. */
const PASSES_PER_SELECTION = 12;

/** Exponent of a candidate's cost. Below 1 it slightly prefers long excerpts, which keep related text together. */
const COST_EXPONENT = 0.9;

/**
 * Chooses the candidates with the terms that the conversation used again. Maximizes a submodular coverage greedily (Nemhauser, Wolsey and
 * Fisher 1978; for summaries Lin and Bilmes 2011) with decreasing thresholds (Badanidiyuru and Vondrák 2014). The gain of a candidate is the
 * weight of its terms, divided by its cost to the power of `COST_EXPONENT`, and multiplied by its `worth` and by the factors `more` and
 * `alike`. A term has its full weight only in the first chosen candidate that contains it, unless the term is in the open request. A term
 * weighs more if it is rare, if the candidate's message introduced it, and if the assistant or the user used it again.
 */
export class Choice<Item extends Candidate> {
  /** The chosen candidates, best first. */
  readonly chosen: Item[] = [];
  readonly #candidates: readonly Item[];
  readonly #vocabulary: Vocabulary;
  /** The terms of all candidates as vocabulary indices, and the start offset of each candidate. */
  readonly #terms: Uint32Array;
  readonly #starts: Uint32Array;
  /** By vocabulary index: 1 for a term that the model will read anyway, in a chosen candidate or outside the candidates. */
  readonly #covered: Uint8Array;
  /** By vocabulary index: 1 for a term of the open request. */
  readonly #wanted: Uint8Array;
  /** The numbers of chosen candidates by message, and by message and shape: {@link shapeOf}. */
  readonly #counts = new Map<number | string, number>();
  /** The last computed gain of each candidate. Gains only fall, so the current gain is not higher. 0 for a chosen candidate. */
  readonly #gains: Float64Array;
  readonly #lowestCost: number;
  /** Tokens that are left: in all, and for what the assistant said. */
  #left = 0;
  #leftForStatements = 0;

  private constructor(candidates: readonly Item[], vocabulary: Vocabulary) {
    this.#candidates = candidates;
    this.#vocabulary = vocabulary;
    this.#covered = new Uint8Array(vocabulary.size);
    this.#wanted = new Uint8Array(vocabulary.size);
    this.#starts = new Uint32Array(candidates.length + 1);
    for (const [index, { terms }] of candidates.entries())
      this.#starts[index + 1] = (this.#starts[index] as number) + terms.length;
    this.#terms = new Uint32Array(this.#starts.at(-1) ?? 0);
    this.#lowestCost = candidates.reduce((lowest, { cost }) => Math.min(lowest, cost), Infinity);
    this.#gains = new Float64Array(candidates.length);
  }

  /**
   * Weighs candidates by the terms of the conversation.
   *
   * @param standing Terms that the model will read outside the candidates, for example in messages that stay.
   * @param wanted Terms of the open request. They keep their weight even if they are already covered.
   */
  static *among<Item extends Candidate>(
    candidates: readonly Item[],
    utterances: readonly Utterance[],
    standing: Iterable<Terms>,
    wanted: Terms,
  ): Work<Choice<Item>> {
    const choice = new Choice(candidates, yield* Vocabulary.of(utterances));
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
    for (let index = 0; index < this.#candidates.length; index++) {
      if (isTimeToRest()) yield;
      const { terms } = this.#candidates[index] as Item;
      const first = this.#starts[index] as number;
      for (let place = 0; place < terms.length; place++)
        this.#terms[first + place] = vocabulary.index(terms[place] as number);
      this.#gains[index] = this.#gain(index);
    }
  }

  /** Adds `tokens` to the budget, and `forStatements` to the part for the assistant's statements. Then chooses candidates that fit. */
  *take(tokens: number, forStatements: number): Work<void> {
    this.#left += tokens;
    this.#leftForStatements += forStatements;
    const misfits = new Uint8Array(this.#candidates.length);
    const gains = this.#gains;
    let threshold = gains.reduce((highest, gain) => Math.max(highest, gain), 0);
    const all = [...gains.keys()];
    let selection: readonly number[] = [];
    for (let pass = 0; pass < MAX_PASSES && this.#left >= this.#lowestCost; pass++) {
      threshold *= STEP;
      yield;
      // Gains never rise, so a candidate below the lowest threshold of the next passes cannot be chosen in them.
      const lowestThreshold = threshold * STEP ** PASSES_PER_SELECTION;
      if (pass % PASSES_PER_SELECTION === 0)
        selection = all.filter((index) => (gains[index] as number) >= lowestThreshold);
      this.#takeFrom(selection, threshold, misfits);
    }
  }

  /** Chooses every selected candidate that fits and whose gain reaches the threshold. */
  #takeFrom(selection: readonly number[], threshold: number, misfits: Uint8Array): void {
    const gains = this.#gains;
    for (const index of selection) {
      if ((gains[index] as number) < threshold || misfits[index]) continue;
      // Other choices may have reduced the gain.
      const gain = this.#gain(index);
      gains[index] = gain;
      if (gain < threshold) continue;
      if (!this.#fits(index)) misfits[index] = 1;
      else {
        this.#choose(index);
        // Also choose the previous candidate, because this one may be unclear or misleading without it.
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
    return cost <= this.#left && (entry.kind !== 'said' || cost <= this.#leftForStatements);
  }

  #choose(index: number): void {
    const candidate = this.#candidates[index] as Item;
    const { entry, cost } = candidate;
    this.#gains[index] = 0;
    this.chosen.push(candidate);
    this.#left -= cost;
    if (entry.kind === 'said') this.#leftForStatements -= cost;
    const end = this.#starts[index + 1] as number;
    for (let place = this.#starts[index] as number; place < end; place++)
      this.#covered[this.#terms[place] as number] = 1;
    for (const key of [entry.at, shapeOf(entry)]) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
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
    const ofMessage = this.#counts.get(entry.at);
    if (ofMessage === undefined) return gain;
    return gain * WEIGHT.more ** ofMessage * WEIGHT.alike ** (this.#counts.get(shapeOf(entry)) ?? 0);
  }
}

/**
 * Returns the message number and the shape of an entry: the beginning of its text, in which `w` replaces each word, number and path. Lines of
 * one word are left out, except the last line. All rows of a table have the same shape, and so do all parts of a listing.
 */
const shapeOf = memoize((entry: Entry): string => {
  const text = 'text' in entry ? entry.text : '';
  const masked = text.slice(0, 80).replaceAll(/[\p{L}\p{N}_][\p{L}\p{N}_./\\-]*/gu, 'w');
  return `${entry.at} ${masked.replaceAll(/(?:^|\n)w(?=\n)/g, '')}`;
});

/** The terms of a conversation with their weights. Index 0 is for unknown terms. */
class Vocabulary {
  readonly #indices: ReadonlyMap<number, number>;
  /** By index: the term's weight in the message that introduced the term, and the number of that message. */
  readonly #weights: Float64Array;
  readonly #first: readonly number[];

  private constructor(indices: ReadonlyMap<number, number>, weights: Float64Array, first: readonly number[]) {
    this.#indices = indices;
    this.#weights = weights;
    this.#first = first;
  }

  static *of(utterances: readonly Utterance[]): Work<Vocabulary> {
    const indices = new Map<number, number>();
    const first: number[] = [0];
    const inMessages: number[] = [0];
    const uses: number[] = [0];
    const add = ({ at, terms, by }: Utterance) => {
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
    for (const utterance of utterances) {
      add(utterance);
      if (isTimeToRest()) yield;
    }
    const weights = Float64Array.from(inMessages, (messages, index) => {
      const rarity = Math.log(1 + utterances.length / Math.max(1, messages));
      const used = uses[index] as number;
      const use = used > 0 ? 1 + Math.min(WEIGHT.mostUses, used) * WEIGHT.use : WEIGHT.unused;
      return messages > utterances.length * WEIGHT.commonShare ? WEIGHT.common : rarity * use;
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
