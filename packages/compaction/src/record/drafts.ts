import { estimateCounter } from '@x/core';
import { isTimeToRest, type Work } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import type { Meter } from '../meter.js';
import { type Boilerplate, boilerplateOf } from './boilerplate.js';
import { ending, given, shortened } from './calls.js';
import type { Candidate } from './choose-excerpts.js';
import { cutLine } from './cut-line.js';
import { argumentsText, type Call, type Entry, endText, isCall, type Quote, renderEntries } from './entry.js';
import type { Excerpt, Excerpts } from './excerpts.js';
import { newestLists, withoutList } from './lists.js';
import { nameFiles } from './name-files.js';
import { resultText } from './readable.js';
import { type Terms, termsOf } from './terms.js';
import { type Made, type Numbered, type Turn, turnsOf } from './turns.js';

const NO_TERMS: Terms = [];

/** The input of a record. */
export interface RecordInput {
  /** The entries of earlier records, which the new one takes over. */
  readonly earlier: readonly Entry[];
  /** The messages to record, in order. */
  readonly covered: readonly Numbered[];
  /** The messages that stay as they are: what they hold is not recorded, and what they use counts. */
  readonly staying: readonly Excerpts[];
  /** The text that stands in front of the record: what it tells need not be told again. */
  readonly narrative?: string | undefined;
  /** Requests among the covered that stand in front of the record in full. */
  readonly standing: ReadonlySet<Excerpts>;
  /** The definitions of the tools, as far as they are known: they say which calls change nothing. */
  readonly tools: readonly ToolDefinition[];
  /** Tokens that the record may have. */
  readonly room: number;
  readonly meter: Meter;
}

/** UTF-16 units of a call's arguments and of its outcome, and those that its line keeps at least. */
const ARGUMENT = 110;
const OUTCOME = 140;
const SHORTEST_CALL = 48;
/** The share of a record for requests that stand nowhere else, and what an older one counts beside other entries. */
const REQUESTS_SHARE = 0.35;
const WORTH_OF_REQUEST = 4;
/** What excerpts of earlier records count beside new ones: statements, and all others. */
const WORTH_OF_EARLIER = { said: 3, other: 2 };
/** The factor for a statement that a short reply answers. */
const WORTH_OF_QUESTION = 3;
/** What an excerpt of a result gains at most that holds what the call asked for, and the fewest words that are most of that. */
const WORTH_OF_ANSWER = 1.5;
const FEWEST_ASKED = 3;
/** UTF-16 units of the arguments of a call that changed nothing, and of the answer that stands behind them where there is room. */
const MOST_LOOKED = 70;
const SHORT_ANSWER = 50;
/** Average UTF-16 units per token. */
const UNITS_PER_TOKEN = 4;
/** The share of a record that calls may take before they are said more shortly. */
const CALLS_SHARE = 0.4;
/** The share of a record that lists may take which stand whole. */
const LISTS_SHARE = 0.15;
/** Upper bound for calls: beyond it the oldest are counted, tool by tool. */
const MOST_CALLS = 0.65;
/** UTF-16 units of a request that stands in full elsewhere. */
const STANDING_REQUEST = 32;
/** A reply of fewer UTF-16 units says little without what it answers. */
const SHORT_REPLY = 60;
/** UTF-16 units below which an excerpt of a result tells nothing. */
const SHORTEST_EXCERPT = 12;
/** Tokens that an excerpt needs beside its text. */
const FRAME = 4;

/** Something that may enter a record. */
export interface Draft extends Candidate {
  /** Enters in any case. */
  readonly must: boolean;
}

/** Computes what an estimated number of tokens costs. */
export type Price = (estimate: number) => number;

/** Everything that may enter the record, in its order: calls and requests as long as there is room for them. */
export function* draftsOf(input: RecordInput, price: Price): Work<readonly Draft[]> {
  const turns = yield* turnsOf(input.covered, input.tools);
  const drafts = yield* withoutRepeats(yield* new Drafts(input, price).of(turns), price);
  leaveOldRequests(drafts, input.room * REQUESTS_SHARE);
  return yield* fitted(drafts, input.room, price);
}

/** An entry that enters in any case. */
function must(entry: Entry, price: Price): Draft {
  const cost = price(estimateCounter.count(renderEntries([entry])));
  return { entry, terms: NO_TERMS, worth: 1, cost, must: true };
}

/** An excerpt that enters where it is worth its room. */
function optional(entry: Quote, price: Price, worth: number, more: Partial<Excerpt> = {}): Draft {
  const { terms = termsOf(entry.text), tokens = estimateCounter.count(entry.text), leans = false } = more;
  return { entry, terms, worth, leans, cost: price(tokens) + FRAME, must: false };
}

type Lists = ReturnType<typeof newestLists>;

/** Collects what earlier records and covered messages offer. */
class Drafts {
  readonly #all: Draft[] = [];
  readonly #input: RecordInput;
  readonly #price: Price;
  /** The newest statement of the assistant. */
  #lastSaid = -1;
  /** Excerpts of results and of written content: found or written again, the same says nothing new. */
  readonly #quoted = new Set<string>();

  constructor(input: RecordInput, price: Price) {
    this.#input = input;
    this.#price = price;
  }

  *of(turns: readonly Turn[]): Work<readonly Draft[]> {
    const { earlier, staying, room } = this.#input;
    const cost = (text: string) => this.#price(estimateCounter.count(text));
    const lists = newestLists(earlier, turns, staying, room * LISTS_SHARE, cost);
    for (const entry of earlier) this.#addEarlier(entry, lists);
    const boilerplate = yield* boilerplateOf(
      turns.flatMap(({ calls }) =>
        calls.flatMap(({ use, result }) => (result ? { use, block: result.block } : [])),
      ),
    );
    const count = turns.reduce((sum, { calls }) => sum + calls.length, 0);
    const longestAnswer = Math.max(
      SHORT_ANSWER,
      (room * CALLS_SHARE * UNITS_PER_TOKEN) / count - MOST_LOOKED,
    );
    for (const turn of turns) {
      if (isTimeToRest()) yield;
      this.#addSaid(turn);
      for (const call of turn.calls) this.#addCall(turn, call, lists, longestAnswer, boilerplate);
    }
    return this.#all;
  }

  #addEarlier(entry: Entry, lists: Lists): void {
    const list = lists.get(entry);
    if (list) this.#all.push(must(list, this.#price));
    if (entry.kind === 'listed' || entry.kind === 'named') return;
    if (entry.kind === 'found' || entry.kind === 'wrote') this.#quoted.add(entry.text);
    if (entry.kind === 'asked' || entry.kind === 'counted' || isCall(entry))
      this.#all.push(must(entry, this.#price));
    else {
      const worth = entry.kind === 'said' ? WORTH_OF_EARLIER.said : WORTH_OF_EARLIER.other;
      this.#all.push(optional(entry, this.#price, worth));
    }
  }

  #addExcerpt(excerpt: Excerpt, at: number, text = excerpt.text): void {
    const { kind, part, opens, worth } = excerpt;
    const entry: Quote = { kind, at, text, ...(part ? { part } : {}), ...(opens ? { opens } : {}) };
    this.#all.push(
      optional(entry, this.#price, worth, text === excerpt.text ? excerpt : { leans: excerpt.leans }),
    );
  }

  #addSaid({ at, excerpts }: Turn): void {
    for (const part of excerpts.parts) {
      if (part.kind === 'asked') {
        const question = this.#all[this.#lastSaid];
        if (question && part.text.length <= SHORT_REPLY)
          this.#all[this.#lastSaid] = { ...question, worth: question.worth * WORTH_OF_QUESTION };
        const text = this.#input.standing.has(excerpts) ? cutLine(part.text, STANDING_REQUEST) : part.text;
        const draft = must({ kind: 'asked', at, text }, this.#price);
        this.#all.push({ ...draft, terms: part.terms });
      } else if (part.kind === 'said') {
        this.#lastSaid = this.#all.length;
        this.#addExcerpt(part, at);
      }
    }
  }

  #addCall(
    { at, excerpts }: Turn,
    { use, looks, result, mendedAt }: Made,
    lists: Lists,
    longestAnswer: number,
    boilerplate: Boilerplate,
  ): void {
    const written = excerpts.parts.filter((part) => part.kind === 'wrote' && part.callId === use.id);
    const list = lists.get(use);
    const isShort = written.reduce((sum, { text }) => sum + text.length, 0) <= 2 * ARGUMENT;
    const text = result ? boilerplate.strip(result.block, resultText(result.block)) : '';
    const { outcome, ...end } = ending(result?.block, text, OUTCOME);
    // An answer is chosen by its use, unless it is a word or two.
    const isTold = outcome !== undefined && (outcome.length <= longestAnswer || end.end === 'failed');
    const length = looks ? MOST_LOOKED : isShort && !list ? 2 * ARGUMENT : ARGUMENT;
    const call: Call = {
      kind: looks ? 'looked' : 'did',
      at,
      ...given(use, length, withoutList(use)),
      ...end,
      ...(isTold ? { outcome } : {}),
      ...(mendedAt === undefined ? {} : { mendedAt }),
    };
    this.#all.push(must(call, this.#price));
    if (list) this.#all.push(must(list, this.#price));
    const isListed = (text: string) => list?.items.some((item) => item.includes(text));
    // What is short stands in its line; a change may be cut there.
    const isInLine = isShort && !call.args.some(({ key }) => key === '+');
    for (const part of isInLine ? [] : written) {
      if (isListed(part.text) || this.#quoted.has(part.text)) continue;
      this.#quoted.add(part.text);
      this.#addExcerpt(part, at);
    }
    const isWhole = isTold && text.length <= OUTCOME;
    const parts = result?.numbered.excerpts.parts.filter((part) => part.callId === use.id) ?? [];
    const asked = new Set(termsOf(argumentsText(call)));
    for (const [index, part] of parts.entries()) {
      if (!result) continue;
      const isEnd = part.opens || index === parts.length - 1;
      const found = isEnd ? boilerplate.strip(result.block, part.text) : part.text;
      if (this.#quoted.has(found)) continue;
      this.#quoted.add(found);
      if (found.length <= SHORTEST_EXCERPT || (isWhole && found.length <= OUTCOME)) continue;
      this.#addExcerpt(
        { ...part, worth: part.worth * answering(asked, part.terms) },
        result.numbered.at,
        found,
      );
    }
  }
}

/** The factor for an excerpt of a result that holds what the call asked for: most of it, or a few words. */
function answering(asked: ReadonlySet<number>, terms: Terms): number {
  let held = 0;
  for (const term of terms) if (asked.has(term)) held++;
  return 1 + WORTH_OF_ANSWER * Math.min(1, held / Math.max(FEWEST_ASKED, asked.size / 2));
}

/** One line for calls that were made in the same words with the same outcome, with the numbers of all. */
function* withoutRepeats(drafts: readonly Draft[], price: Price): Work<Draft[]> {
  const first = new Map<
    string,
    { readonly index: number; readonly call: Call; readonly again: number[]; isAlike: boolean }
  >();
  const kept: Draft[] = [];
  for (const draft of drafts) {
    if (isTimeToRest()) yield;
    const { entry } = draft;
    if (!isCall(entry)) {
      kept.push(draft);
      continue;
    }
    const { at, again = [], isAlike = false, whole } = entry;
    const key = `${entry.kind} ${lineOf(entry)}`;
    const known = first.get(key);
    if (known) {
      known.again.push(at, ...again);
      known.isAlike ||= isAlike || whole !== known.call.whole;
    } else {
      first.set(key, { index: kept.length, call: entry, again: [...again], isAlike });
      kept.push(draft);
    }
  }
  for (const { index, again, isAlike } of first.values()) {
    const { entry } = kept[index] as Draft;
    if (again.length > 0)
      kept[index] = must({ ...(entry as Call), again, ...(isAlike ? { isAlike } : {}) }, price);
  }
  return kept;
}

function lineOf(call: Call): string {
  return argumentsText(call) + endText(call);
}

/** Leaves the oldest requests that nothing else holds to what room others leave, where they are too many. */
function leaveOldRequests(drafts: Draft[], room: number): void {
  let left = room;
  for (let index = drafts.length - 1; index >= 0; index--) {
    const draft = drafts[index] as Draft;
    const { entry } = draft;
    if (entry.kind !== 'asked') continue;
    left -= draft.cost;
    if (left >= 0) continue;
    const terms = draft.terms.length > 0 ? draft.terms : termsOf(entry.text);
    drafts[index] = { ...draft, must: false, worth: WORTH_OF_REQUEST, terms };
  }
}

/**
 * Cuts the lines of calls to one length, the longest with which they fit their share of the room. Where even the shortest lines are
 * too many, one line counts the oldest, tool by tool.
 */
function* fitted(drafts: readonly Draft[], room: number, price: Price): Work<readonly Draft[]> {
  const lengths: { readonly cost: number; readonly length: number }[] = [];
  for (const { entry, cost } of drafts) {
    if (isCall(entry)) lengths.push({ cost, length: lineOf(entry).length });
    if (isTimeToRest()) yield;
  }
  // A shortened line is not counted to know about what it would cost.
  const total = (most: number) =>
    lengths.reduce((sum, { cost, length }) => sum + cost * Math.min(1, most / length), 0);
  let most = lengths.reduce((longest, { length }) => Math.max(longest, length), SHORTEST_CALL);
  while (most > SHORTEST_CALL && total(most) > room * CALLS_SHARE) most *= 0.9;
  const cut = function* (all: readonly Draft[]): Work<readonly Draft[]> {
    const entries = nameFiles(all.map(({ entry }) => entry));
    yield;
    const shown: Draft[] = [];
    for (const [index, draft] of all.entries()) {
      if (isTimeToRest()) yield;
      const entry = entries[index] as Entry;
      const short = isCall(entry) && lineOf(entry).length > most ? shortened(entry, most) : entry;
      shown.push(short === draft.entry ? draft : must(short, price));
    }
    return shown;
  };
  const shown = yield* cut(drafts);
  yield;
  const { rest, counted } = countOldest(shown, room * MOST_CALLS);
  yield;
  if (!counted) return shown;
  const first = shown.findIndex(({ entry }) => isCall(entry) || entry.kind === 'counted');
  // A line that is counted tells no path any more.
  const left = yield* cut(drafts.filter((_, index) => rest.has(index)));
  return left.toSpliced(first, 0, must(counted, price));
}

/** Counts the oldest calls where all that enters in any case costs more than `room`: those that failed last. */
function countOldest(
  drafts: readonly Draft[],
  room: number,
): { readonly rest: ReadonlySet<number>; readonly counted: Entry | undefined } {
  let excess = drafts.reduce((sum, draft) => (draft.must ? sum + draft.cost : sum), -room);
  const rest = new Set(drafts.keys());
  const counts = new Map<string, number>();
  let at: number | undefined;
  let to = 0;
  const count = (tool: string, times: number) => counts.set(tool, (counts.get(tool) ?? 0) + times);
  // A number does not say that one of them failed.
  for (const failed of [false, true]) {
    for (const [index, { entry, cost }] of drafts.entries()) {
      if (excess <= 0) break;
      const isPlain = entry.kind === 'counted' || (isCall(entry) && entry.end !== 'failed');
      if (!rest.has(index) || !(isCall(entry) || isPlain) || isPlain === failed) continue;
      excess -= cost;
      rest.delete(index);
      at = Math.min(at ?? entry.at, entry.at);
      if (entry.kind === 'counted') for (const { tool, times } of entry.counts) count(tool, times);
      else count(entry.tool, 1 + (entry.again?.length ?? 0));
      to = Math.max(to, entry.kind === 'counted' ? entry.to : entry.at);
    }
  }
  if (at === undefined) return { rest, counted: undefined };
  const all = [...counts].map(([tool, times]) => ({ tool, times }));
  return { rest, counted: { kind: 'counted', at, to, counts: all } };
}
