import type { Message } from '@x/core';
import { passagesOf, sourceOf, wordsOf } from './passages.js';

/** A passage that was found. */
export interface Passage {
  /** The message, its number, and the place of the passage among all. */
  readonly messageId: string;
  readonly at: number;
  readonly place: number;
  /** Its speaker. */
  readonly source: string;
  readonly text: string;
}

interface Indexed {
  readonly messageId: string;
  readonly at: number;
  readonly source: string;
  readonly isResult: boolean;
  readonly units: number;
  readonly texts: readonly string[];
  readonly words: readonly Uint32Array[];
}

/** BM25 (Robertson and Zaragoza 2009) … */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.6;
/** … and what a neighbor's score counts: an answer often stands beside the words of its question. */
const NEIGHBOR = 0.45;
/** A passage below this share of the best one is noise. */
const LEAST = 0.12;
/** UTF-16 units that an index holds: beyond them the oldest results are left to be read by their number. */
const MOST_UNITS = 32_000_000;
/** After so many passages in a row that do not fit there is no room left. */
const MOST_MISFITS = 16;
/** Passages between two turns of others. */
const PASSAGES_A_TURN = 4_000;
const NONE: Counts = [];

/** The passages of a conversation, ranked for a query. Grows by message; memory is bounded. */
export class RecallIndex {
  #messages: Indexed[] = [];
  #units = 0;
  readonly #unsearched = new Set<number>();
  readonly #most: number;

  constructor(most = MOST_UNITS) {
    this.#most = most;
  }

  /** UTF-16 units that it holds. */
  get units(): number {
    return this.#units;
  }

  /** Numbers of messages that are found in part alone, or not at all. */
  get unsearched(): readonly number[] {
    return [...this.#unsearched];
  }

  add(at: number, message: Message): void {
    const { texts, isWhole } = passagesOf(message);
    if (!isWhole) this.#unsearched.add(at);
    if (texts.length === 0) return;
    const units = texts.reduce((sum, { length }) => sum + length, 0);
    const isResult = message.content.some(({ type }) => type === 'tool_result');
    const words = texts.map(wordsOf);
    this.#messages.push({
      messageId: message.id,
      at,
      source: sourceOf(message),
      isResult,
      units,
      texts,
      words,
    });
    this.#units += units;
    if (this.#units > this.#most) this.#shrink();
  }

  /** Drops the oldest results, then the oldest of all, down to three quarters. */
  #shrink(): void {
    for (const droppable of [({ isResult }: Indexed) => isResult, () => true]) {
      this.#messages = this.#messages.filter((message) => {
        if (this.#units <= this.#most * 0.75 || !droppable(message)) return true;
        this.#units -= message.units;
        this.#unsearched.add(message.at);
        return false;
      });
    }
  }

  /**
   * The best passages for a query that `fits` lets in, the best first asked, in the order of the conversation. Where an
   * identifier of the query, such as `node-17`, stands whole anywhere, its parts count nowhere else, and the messages that hold it
   * come first.
   *
   * @param skip Messages whose passages count, but are not wanted.
   * @param turn Awaited once in a while, so that others have the thread.
   */
  async search(
    query: string,
    fits: (passage: Passage) => boolean,
    { skip, turn }: { skip?: (messageId: string) => boolean; turn?: () => Promise<void> } = {},
  ): Promise<readonly Passage[]> {
    const found = await this.#count(query, turn);
    const { places, exact } = found;
    const scores = this.#scores(found);
    const near = scores.map((score, place) => {
      // A passage without any of the words answers at most what stands in front of it.
      const next = score > 0 ? (scores[place + 1] ?? 0) : 0;
      return score + (NEIGHBOR * ((scores[place - 1] ?? 0) + next)) / 2;
    });
    const best = near.reduce((most, score) => Math.max(most, score), 0);
    const order = [...near.keys()]
      .filter((place) => {
        const [number] = places[place] as Place;
        const { messageId } = this.#messages[number] as Indexed;
        // Beside an identifier the answer stands behind it: in front of it is what was said of another.
        const score = exact.has(place + 1) ? scores[place] : near[place];
        return (score as number) > best * LEAST && !skip?.(messageId);
      })
      .sort((one, other) => (near[other] as number) - (near[one] as number))
      .map((place) => this.#passageAt(place, places));
    const chosen = chooseThatFit(order, fits);
    const holders = new Set(chosen.flatMap(({ at, place }) => (exact.has(place) ? at : [])));
    return chosen.sort(
      (one, other) => Number(holders.has(other.at)) - Number(holders.has(one.at)) || one.place - other.place,
    );
  }

  /** Counts the words of a query in every passage. */
  async #count(query: string, turn?: () => Promise<void>): Promise<Found> {
    const wanted = new Map([...new Set(wordsOf(query))].map((word, index) => [word, index]));
    // Most words are none of these: told without a look at the map.
    const maybe = new Uint8Array(0x10000);
    for (const word of wanted.keys()) maybe[word & 0xffff] = 1;
    const places: Place[] = [];
    const counts: Counts[] = [];
    const identifiers = identifiersIn(query, wanted);
    const exact = new Set<number>();
    const holding = new Float64Array(wanted.size);
    for (const [number, { words, texts }] of this.#messages.entries()) {
      for (const [index, own] of words.entries()) {
        places.push([number, index]);
        let found: Map<number, number> | undefined;
        for (const word of own) {
          if (maybe[word & 0xffff] === 0) continue;
          const known = wanted.get(word);
          if (known === undefined) continue;
          found ??= new Map();
          found.set(known, (found.get(known) ?? 0) + 1);
        }
        const here = identifiers.filter(
          ({ words, pattern }) =>
            words.every((word) => found?.has(word)) && pattern.test(texts[index] as string),
        );
        for (const identifier of here) {
          exact.add(places.length - 1);
          identifier.isFound = true;
        }
        for (const word of found?.keys() ?? []) holding[word] = (holding[word] as number) + 1;
        counts.push(found ? [...found] : NONE);
        if (places.length % PASSAGES_A_TURN === 0) await turn?.();
      }
    }
    const parts = new Set(identifiers.filter(({ isFound }) => isFound).flatMap(({ own }) => own));
    return { places, counts, holding, exact, parts };
  }

  /** Computes the score of every passage by its own words. */
  #scores({ places, counts, holding, exact, parts }: Found): Float64Array {
    const lengths = places.map(([number, index]) => this.#messages[number]?.words[index]?.length ?? 0);
    const average = lengths.reduce((sum, length) => sum + length, 0) / places.length;
    const rarity = holding.map((count) => Math.log(1 + (places.length - count + 0.5) / (count + 0.5)));
    return Float64Array.from(counts, (found, place) => {
      const length = (lengths[place] ?? 0) / average;
      let score = 0;
      for (const [word, count] of found) {
        if (parts.has(word) && !exact.has(place)) continue;
        const weight = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
        score += ((rarity[word] as number) * count * (SATURATION + 1)) / (count + weight);
      }
      return score;
    });
  }

  #passageAt(place: number, places: readonly Place[]): Passage {
    const [number, index] = places[place] as Place;
    const { messageId, at, source, texts } = this.#messages[number] as Indexed;
    return { messageId, at, place, source, text: texts[index] as string };
  }
}

/** Takes the passages that `fits` lets in, until many in a row do not. A message that was read twice stands there twice. */
function chooseThatFit(passages: readonly Passage[], fits: (passage: Passage) => boolean): Passage[] {
  const chosen: Passage[] = [];
  const taken = new Set<string>();
  let misfits = 0;
  for (const passage of passages) {
    if (taken.has(passage.text)) continue;
    if (fits(passage)) {
      taken.add(passage.text);
      chosen.push(passage);
      misfits = 0;
    } else if (++misfits === MOST_MISFITS) break;
  }
  return chosen;
}

/** The index of a message, and of a passage in it. */
type Place = readonly [message: number, passage: number];

/** How often each word of a query that a passage holds stands there. */
type Counts = readonly (readonly [word: number, count: number])[];

/** What a query found in an index. */
interface Found {
  readonly places: readonly Place[];
  /** By place. */
  readonly counts: readonly Counts[];
  /** By word, the number of passages that hold it. */
  readonly holding: Float64Array;
  /** The places where an identifier stands whole. */
  readonly exact: ReadonlySet<number>;
  /** Words of these identifiers, which count nowhere else. */
  readonly parts: ReadonlySet<number>;
}

/** An identifier of a query. */
interface Identifier {
  /** Its words, and those of them that stand nowhere else in the query. */
  readonly words: readonly number[];
  readonly own: readonly number[];
  readonly pattern: RegExp;
  isFound: boolean;
}

/** Words that are joined by a sign, or that mix letters and digits. Of a path its names, which stand alone elsewhere. */
const IDENTIFIER =
  /(?<![\p{L}\p{N}])(?:[\p{L}\p{N}]+(?:[-_:#@][\p{L}\p{N}]+)+|(?=[\p{L}\p{N}]*\p{N})(?=[\p{L}\p{N}]*\p{L})[\p{L}\p{N}]+)/gu;

/** Identifiers of a query that are looked for: a pasted text has any number. */
const MOST_IDENTIFIERS = 16;

/** @param wanted The places of the query's words. */
function identifiersIn(query: string, wanted: ReadonlyMap<number, number>): readonly Identifier[] {
  const placesOf = (text: string) => [...wordsOf(text)].flatMap((word) => wanted.get(word) ?? []);
  const others = new Set(placesOf(query.replaceAll(IDENTIFIER, ' ')));
  return [...new Set(query.match(IDENTIFIER))].slice(0, MOST_IDENTIFIERS).map((identifier) => {
    const words = placesOf(identifier);
    const pattern = new RegExp(
      `(?<![\\p{L}\\p{N}]|[\\p{L}\\p{N}][-_])${identifier}(?![\\p{L}\\p{N}]|[-_][\\p{L}\\p{N}])`,
      'iu',
    );
    return { words, own: words.filter((word) => !others.has(word)), pattern, isFound: false };
  });
}
