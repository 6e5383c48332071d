import type { Entry } from './entry.js';

/** Something that may enter a record. */
export interface Candidate extends Entry {
  readonly terms: Uint32Array;
  readonly worth: number;
  /** In tokens. */
  readonly cost: number;
}

/** The terms of one message, which say what others are worth. */
export interface Saying {
  readonly at: number;
  readonly terms: Uint32Array;
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
  /** For a term that an earlier message said: it belongs to the message that it comes from. */
  old: 0.3,
  /** For a term in more than this share of all messages, whatever else is true of it. */
  common: 0.05,
  commonShare: 0.3,
  /** For a term that stands somewhere already. */
  again: 0.15,
  /** For each further excerpt of one message, and for each further one that differs in names and numbers alone. */
  more: 0.92,
  alike: 0.5,
};

/** The share that what the assistant said may have: an assistant that talks a lot must not crowd out what it found. */
const STATEMENTS_SHARE = 0.4;

/** Below 1, long excerpts are preferred a little: they keep together what belongs together. */
const COST_EXPONENT = 0.9;

/**
 * Chooses candidates of at most `room` tokens that together hold as much as can be of what the conversation relied on
 * later. Greedy maximization of a submodular coverage (Nemhauser, Wolsey and Fisher 1978; for summaries Lin and Bilmes
 * 2011), with lazy evaluation (Minoux 1978): a term counts fully once, more when it is rare, when it was new where it
 * stands, and when the assistant or the user came back to it.
 *
 * @param standing Terms that the reader sees anyway.
 */
export function chooseExcerpts<Item extends Candidate>(
  candidates: readonly Item[],
  sayings: readonly Saying[],
  standing: Iterable<Uint32Array>,
  room: number,
): readonly Item[] {
  const vocabulary = new Vocabulary(sayings);
  const covered = new Uint8Array(vocabulary.size + 1);
  for (const terms of standing) for (const term of terms) covered[vocabulary.index(term)] = 1;

  const terms = candidates.map(({ terms: own }) => Uint32Array.from(own, (term) => vocabulary.index(term)));
  const taken = new Map<number | string, number>();
  const shapes = candidates.map(({ at, text }) => `${at} ${shapeOf(text)}`);
  const gain = (index: number): number => {
    const { at, worth, cost } = candidates[index] as Item;
    let sum = 0;
    for (const term of terms[index] as Uint32Array) {
      const weight = vocabulary.weight(term, at);
      sum += covered[term] ? weight * WEIGHT.again : weight;
    }
    const more =
      WEIGHT.more ** (taken.get(at) ?? 0) * WEIGHT.alike ** (taken.get(shapes[index] as string) ?? 0);
    return (sum * worth * more) / cost ** COST_EXPONENT;
  };

  const queue = new MaxQueue(
    candidates.map((_, index) => index),
    gain,
  );
  const chosen: Item[] = [];
  let left = room;
  let forStatements = room * STATEMENTS_SHARE;
  for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
    const candidate = candidates[index] as Item;
    const { kind, cost } = candidate;
    if (cost > left || (kind === 'said' && cost > forStatements)) continue;
    chosen.push(candidate);
    left -= cost;
    if (kind === 'said') forStatements -= cost;
    for (const term of terms[index] as Uint32Array) covered[term] = 1;
    for (const key of [candidate.at, shapes[index] as string]) taken.set(key, (taken.get(key) ?? 0) + 1);
  }
  return chosen;
}

/** A text without its numbers and names: rows of one table have the same. */
function shapeOf(text: string): string {
  return text.slice(0, 80).replaceAll(/[\p{L}\p{N}_]+/gu, 'w');
}

/** The terms of a conversation with their weights. Index 0 is for terms that no message has. */
class Vocabulary {
  readonly #indices = new Map<number, number>();
  /** By index: what the term counts where it was new, and the number of the message that it was new in. */
  readonly #weights: Float64Array;
  readonly #first: Int32Array;

  constructor(sayings: readonly Saying[]) {
    for (const { terms } of sayings) {
      for (const term of terms) if (!this.#indices.has(term)) this.#indices.set(term, this.#indices.size + 1);
    }
    const size = this.size + 1;
    const inMessages = new Uint32Array(size);
    const uses = new Uint32Array(size);
    this.#first = new Int32Array(size);
    for (const { at, terms, by } of sayings) {
      for (const term of terms) {
        const index = this.index(term);
        if (inMessages[index] === 0) this.#first[index] = at;
        inMessages[index] = (inMessages[index] as number) + 1;
        if (by !== 'tool') uses[index] = (uses[index] as number) + (by === 'user' ? 2 : 1);
      }
    }
    this.#weights = new Float64Array(size);
    for (let index = 0; index < size; index++) {
      const among = inMessages[index] as number;
      const rarity = Math.log(1 + sayings.length / Math.max(1, among));
      const used = uses[index] as number;
      const use = used > 0 ? 1 + Math.min(WEIGHT.mostUses, used) * WEIGHT.use : WEIGHT.unused;
      this.#weights[index] = among > sayings.length * WEIGHT.commonShare ? WEIGHT.common : rarity * use;
    }
  }

  get size(): number {
    return this.#indices.size;
  }

  index(term: number): number {
    return this.#indices.get(term) ?? 0;
  }

  weight(index: number, at: number): number {
    const weight = this.#weights[index] as number;
    return this.#first[index] === at ? weight : weight * WEIGHT.old;
  }
}

/** Indices by a value that can only fall: the largest comes first, and a value is computed again when its turn comes. */
class MaxQueue {
  readonly #heap: { readonly index: number; value: number }[];
  readonly #worth: (index: number) => number;

  constructor(indices: readonly number[], worth: (index: number) => number) {
    this.#worth = worth;
    this.#heap = indices.map((index) => ({ index, value: worth(index) }));
    for (let at = (this.#heap.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  pop(): number | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (!top) return undefined;
      const value = this.#worth(top.index);
      if (value < top.value) {
        top.value = value;
        this.#sink(0);
        if (this.#heap[0] !== top) continue;
      }
      const last = this.#heap.pop();
      if (last && last !== top) {
        this.#heap[0] = last;
        this.#sink(0);
      }
      return top.index;
    }
  }

  #sink(start: number): void {
    const heap = this.#heap;
    const moving = heap[start];
    if (!moving) return;
    let at = start;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && (heap[child + 1]?.value ?? 0) > (heap[child]?.value ?? 0)) child++;
      const below = heap[child];
      if (!below || below.value <= moving.value) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = moving;
  }
}
