import type { Message } from '@x/core';
import { isOfUser, othersTurn, quotesStrangers, SearchQuery, TextScan, Tokenizer } from '@x/core/internal';
import { passagesOf, sourceOf } from './passages.js';

/** A passage of a message. */
export interface Passage {
  readonly messageId: string;
  /** The number of the message. */
  readonly at: number;
  /** The source of the message: the user, the assistant, or a tool. */
  readonly source: string;
  readonly isResult: boolean;
  /** Whether the user or the agent wrote the message. */
  readonly isOwn: boolean;
  readonly text: string;
  /** The terms that a query is matched with. */
  readonly terms: readonly string[];
}

/** Passages whose score is below this share of the best score are skipped. */
const LEAST = 0.12;
/** Maximum UTF-16 units in an index. Beyond it, the oldest results are removed; they can still be read by their number. */
const MOST_UNITS = 32_000_000;
/** The search stops after this many passages in a row that do not fit. */
const MOST_MISFITS = 16;
/** Number of passages between two yields to the event loop. */
const PASSAGES_A_TURN = 1_000;
/** Language-neutral, because one conversation may use several languages. */
const tokenizer = new Tokenizer();

/** A search index of a conversation's passages. Messages are added one by one; memory is bounded. */
export class RecallIndex {
  #passages: Passage[] = [];
  #units = 0;
  readonly #unsearched = new Set<number>();
  readonly #most: number;

  constructor(most = MOST_UNITS) {
    this.#most = most;
  }

  /** UTF-16 units in the index. */
  get units(): number {
    return this.#units;
  }

  /** Numbers of messages that are not or not fully indexed. */
  get unsearched(): readonly number[] {
    return [...this.#unsearched];
  }

  add(at: number, message: Message): void {
    const { texts, isWhole } = passagesOf(message);
    if (!isWhole) this.#unsearched.add(at);
    const isResult = message.content.some(({ type }) => type === 'tool_result');
    const isOwn = isOwnMessage(message);
    const source = sourceOf(message);
    for (const text of texts) {
      const terms = tokenizer.terms(text);
      this.#passages.push({ messageId: message.id, at, source, isResult, isOwn, text, terms });
      this.#units += text.length;
    }
    if (this.#units > this.#most) this.#shrink();
  }

  /** Shrinks the index to three quarters of its limit: first drops the oldest results, then the oldest passages of any kind. */
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
   * Returns the best passages for a query, in the order of the conversation. Offers each passage to `fits`, the best first, and returns
   * those that it accepts. Messages that contain a name of the query as a whole, such as `node-17`, rank first.
   *
   * @param isSkipped Tests by the id of a message if its passages are scored, but not returned.
   */
  async search(
    query: string,
    fits: (passage: Passage) => boolean,
    isSkipped: (messageId: string) => boolean = () => false,
  ): Promise<readonly Passage[]> {
    // Neighbors of a match count too, because a result follows its call.
    const scan = new TextScan<Passage>(new SearchQuery(query, { tokenizer, isQuestion: true }));
    for (const [number, passage] of this.#passages.entries()) {
      scan.add({ file: '', number, text: passage.text, terms: passage.terms, item: passage });
      if (number % PASSAGES_A_TURN === PASSAGES_A_TURN - 1) await othersTurn();
    }
    const ranked = scan.best();
    const least = LEAST * ranked.reduce((most, { relevance }) => Math.max(most, relevance), 0);
    const wanted = ranked.filter(({ relevance, item }) => relevance > least && !isSkipped(item.messageId));
    const chosen: typeof wanted = [];
    const taken = new Set<string>();
    let misfits = 0;
    for (const hit of wanted) {
      // The conversation may contain the same text twice, for example if a file was read twice.
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

/** Tests if the user or the agent wrote everything in a message. Results of tools that change only the session count as the agent's. */
function isOwnMessage(message: Message): boolean {
  if (message.role === 'user') return isOfUser(message);
  const results = message.content.filter((block) => block.type === 'tool_result');
  return !quotesStrangers(message) && results.every(({ origin }) => origin === 'agent');
}
