import type { Message } from '@x/core';
import { SearchQuery, TextScan, Tokenizer } from '@x/core/internal';
import { passagesOf, sourceOf } from './passages.js';

/** A passage of a message. */
export interface Passage {
  readonly messageId: string;
  /** The number of the message. */
  readonly at: number;
  /** The speaker. */
  readonly source: string;
  readonly isResult: boolean;
  readonly text: string;
  /** The terms by which it is found. */
  readonly terms: readonly string[];
}

/** A passage below this share of the best one is noise. */
const LEAST = 0.12;
/** UTF-16 units that an index holds: beyond them the oldest results are left to be read by their number. */
const MOST_UNITS = 32_000_000;
/** After so many passages in a row that do not fit there is no room left. */
const MOST_MISFITS = 16;
/** Passages between two turns of others. */
const PASSAGES_A_TURN = 1_000;
/** Suits any language: a conversation may be in several. */
const tokenizer = new Tokenizer();

/** The passages of a conversation, ranked for a query. Grows by message; memory is bounded. */
export class RecallIndex {
  #passages: Passage[] = [];
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
    const isResult = message.content.some(({ type }) => type === 'tool_result');
    const source = sourceOf(message);
    for (const text of texts) {
      const terms = tokenizer.terms(text);
      this.#passages.push({ messageId: message.id, at, source, isResult, text, terms });
      this.#units += text.length;
    }
    if (this.#units > this.#most) this.#shrink();
  }

  /** Drops the oldest results, then the oldest of all, down to three quarters. */
  #shrink(): void {
    for (const droppable of [({ isResult }: Passage) => isResult, () => true]) {
      this.#passages = this.#passages.filter((passage) => {
        if (this.#units <= this.#most * 0.75 || !droppable(passage)) return true;
        this.#units -= passage.text.length;
        this.#unsearched.add(passage.at);
        return false;
      });
    }
  }

  /**
   * Returns the best passages for a query that `fits` accepts, in the order of the conversation. `fits` is asked about the
   * best passage first. Messages that hold a name of the query as a whole, such as `node-17`, come first.
   *
   * @param skip Messages whose passages count, but are not wanted.
   * @param turn Awaited once in a while, so that others have the thread.
   */
  async search(
    query: string,
    fits: (passage: Passage) => boolean,
    { skip, turn }: { skip?: (messageId: string) => boolean; turn?: () => Promise<void> } = {},
  ): Promise<readonly Passage[]> {
    // The answer to keywords may stand next to them, too: a result stands behind its call.
    const scan = new TextScan<Passage>(new SearchQuery(query, { tokenizer, isQuestion: true }));
    for (const [number, passage] of this.#passages.entries()) {
      scan.add({ file: '', number, text: passage.text, terms: passage.terms, item: passage });
      if (number % PASSAGES_A_TURN === PASSAGES_A_TURN - 1) await turn?.();
    }
    const ranked = scan.best();
    const least = LEAST * ranked.reduce((most, { relevance }) => Math.max(most, relevance), 0);
    const wanted = ranked.filter(({ relevance, item }) => relevance > least && !skip?.(item.messageId));
    const chosen: typeof wanted = [];
    const taken = new Set<string>();
    let misfits = 0;
    for (const hit of wanted) {
      // A message that was read twice stands there twice.
      if (taken.has(hit.text)) continue;
      if (fits(hit.item)) {
        taken.add(hit.text);
        chosen.push(hit);
        misfits = 0;
      } else if (++misfits === MOST_MISFITS) break;
    }
    const named = new Set(chosen.filter(({ names }) => names !== 0).map(({ item }) => item.at));
    return chosen
      .sort((one, other) => one.number - other.number)
      .sort((one, other) => Number(named.has(other.item.at)) - Number(named.has(one.item.at)))
      .map(({ item }) => item);
  }
}
