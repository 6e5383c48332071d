import { estimateCounter } from '@x/core';
import { isTimeToRest, memoize, type Work } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { outcomeOf } from '../conversation/tool-calls.js';
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
import { StaleLines } from './stale-lines.js';
import { type Terms, termsOf } from './terms.js';
import { type Made, type Numbered, type Turn, turnsOf } from './turns.js';

const NO_TERMS: Terms = [];

/** The input of a record. */
export interface RecordInput {
  /** The entries of earlier records, which the new one takes over. */
  readonly earlier: readonly Entry[];
  /** The messages to record, in order. */
  readonly covered: readonly Numbered[];
  /** The messages that are kept unchanged. They are not recorded, but excerpts that share their terms weigh more. */
  readonly staying: readonly Excerpts[];
  /** The summary before the record. The record does not repeat its content. */
  readonly narrative?: string | undefined;
  /** User requests that stay in full before the record, so the record only needs a short line for each. */
  readonly standing: ReadonlySet<Excerpts>;
  /** The known tool definitions. They say which calls are read-only. */
  readonly tools: readonly ToolDefinition[];
  /** The token limit of the record. */
  readonly room: number;
  readonly meter: Meter;
}

/** Maximum UTF-16 units of a call's arguments. */
const ARGUMENT = 110;
/** Maximum UTF-16 units of a call's outcome. */
const OUTCOME = 140;
/** Minimum UTF-16 units that a shortened call line keeps. */
const SHORTEST_CALL = 48;
/** The share of a record for requests that are quoted nowhere else. */
const REQUESTS_SHARE = 0.35;
/** The weight of an older request that competes with excerpts. */
const WORTH_OF_REQUEST = 4;
/** The weights of excerpts from earlier records: statements, and all others. */
const WORTH_OF_EARLIER = { said: 3, other: 2 };
/** Multiplies the weight of an assistant's statement if the user answered it with a short reply. */
const WORTH_OF_QUESTION = 3;
/** The maximum bonus of a result excerpt that contains the words of its call. */
const WORTH_OF_ANSWER = 1.5;
/** The minimum number of words in a call for that bonus. */
const FEWEST_ASKED = 3;
/** Maximum UTF-16 units of a read-only call's arguments. */
const MOST_LOOKED = 70;
/** Maximum UTF-16 units of an answer that is shown after a read-only call's arguments if there is room. */
const SHORT_ANSWER = 50;
/** Average UTF-16 units per token. */
const UNITS_PER_TOKEN = 4;
/** The share of a record that calls may take before their lines are shortened. */
const CALLS_SHARE = 0.4;
/** The maximum share of a record for lists. */
const LISTS_SHARE = 0.15;
/** The maximum share of a record for calls. Beyond it, the oldest calls collapse into one count per tool. */
const MOST_CALLS = 0.55;
/** Maximum UTF-16 units of a request that is quoted in full elsewhere. */
const STANDING_REQUEST = 32;
/** Maximum UTF-16 units of a reply that is hard to understand without the question before it. */
const SHORT_REPLY = 60;
/** Minimum UTF-16 units of a useful excerpt of a result. */
const SHORTEST_EXCERPT = 12;
/** Tokens of an excerpt's markup, without its text. */
const FRAME = 4;

/** An entry that may become part of the record, with its cost, its weight and its position in the conversation. */
export interface Draft extends Candidate {
  readonly order: number;
}

/** The drafts that are always included and those that compete for the remaining room, each in order. */
type AllDrafts = Readonly<Record<'musts' | 'options', readonly Draft[]>>;

/** Converts an estimated number of tokens to the meter's tokens. */
export type Price = (estimate: number) => number;

/** Returns all drafts for the record. The required drafts (calls and requests) together stay within the token limit. */
export function* draftsOf(input: RecordInput, price: Price): Work<AllDrafts> {
  const turns = yield* turnsOf(input.covered, input.tools);
  const { musts, options } = yield* new Drafts(input, price).of(turns);
  const all = yield* withoutRepeats(musts, price);
  const old = oldRequests(all, input.room * REQUESTS_SHARE);
  const rest = old.size === 0 ? all : all.filter((draft) => !old.has(draft));
  return {
    musts: yield* fitted(rest, input.room, price),
    options: old.size === 0 ? options : [...options, ...[...old].map(asOption)].sort(byOrder),
  };
}

/** Compares drafts by their position in the conversation. */
export const byOrder = (one: Draft, other: Draft): number => one.order - other.order;

/** Creates a draft that is always included. */
function must(entry: Entry, order: number, price: Price): Draft {
  const cost = price(estimateCounter.count(renderEntries([entry])));
  return { entry, terms: NO_TERMS, worth: 1, cost, leans: false, order };
}

type Lists = ReturnType<typeof newestLists>;

/** Collects the drafts of earlier records and covered messages. */
class Drafts {
  readonly #musts: Draft[] = [];
  readonly #options: Draft[] = [];
  readonly #input: RecordInput;
  readonly #price: Price;
  /** The index of the assistant's newest statement among the options; -1 if messages after it were not read. */
  #lastSaid = -1;
  /** The number of the last message. */
  #lastAt = 0;
  /** Lines of the excerpts from results and written content so far, which are not quoted twice. */
  readonly #quoted = new Set<string>();

  constructor(input: RecordInput, price: Price) {
    this.#input = input;
    this.#price = price;
  }

  *of(turns: readonly Turn[]): Work<AllDrafts> {
    const { earlier, staying, room } = this.#input;
    const cost = (text: string) => this.#price(estimateCounter.count(text));
    const lists = newestLists(earlier, turns, staying, room * LISTS_SHARE, cost);
    for (const entry of earlier) this.#addEarlier(entry, lists);
    const boilerplate = yield* boilerplateOf(
      turns.flatMap(({ calls }) =>
        calls.flatMap(({ use, result }) => (result ? { use, block: result.block } : [])),
      ),
    );
    const stale = yield* StaleLines.in(turns, earlier);
    const count = turns.reduce((sum, { calls }) => sum + calls.length, 0);
    const longestAnswer = Math.max(
      SHORT_ANSWER,
      (room * CALLS_SHARE * UNITS_PER_TOKEN) / count - MOST_LOOKED,
    );
    for (const turn of turns) {
      if (isTimeToRest()) yield;
      this.#addSaid(turn);
      for (const call of turn.calls) this.#addCall(turn, call, lists, longestAnswer, boilerplate, stale);
    }
    return { musts: this.#musts, options: this.#options };
  }

  /** The position of the next draft. */
  get #order(): number {
    return this.#musts.length + this.#options.length;
  }

  #addMust(entry: Entry, terms = NO_TERMS): void {
    this.#musts.push({ ...must(entry, this.#order, this.#price), terms });
  }

  /** Adds a draft of an excerpt that competes for the remaining tokens. */
  #addOption(entry: Quote, worth: number, more: Partial<Excerpt> = {}): void {
    const { terms = termsOf(entry.text), tokens = estimateCounter.count(entry.text), leans = false } = more;
    const cost = this.#price(tokens) + FRAME;
    this.#options.push({ entry, terms, worth, cost, leans, order: this.#order });
  }

  #addEarlier(entry: Entry, lists: Lists): void {
    const list = lists.get(entry);
    if (list) this.#addMust(list);
    if (entry.kind === 'listed' || entry.kind === 'named') return;
    if (entry.kind === 'found' || entry.kind === 'wrote') this.#quote(entry.text);
    if (entry.kind === 'asked' || entry.kind === 'counted' || isCall(entry)) this.#addMust(entry);
    else this.#addOption(entry, entry.kind === 'said' ? WORTH_OF_EARLIER.said : WORTH_OF_EARLIER.other);
  }

  #addExcerpt(excerpt: Excerpt, at: number, text = excerpt.text, factor = 1): void {
    const { kind, part, opens, goesOn, worth, leans } = excerpt;
    const entry: Quote = { kind, at, text };
    if (part) entry.part = part;
    if (opens) entry.opens = opens;
    if (goesOn) entry.goesOn = goesOn;
    this.#addOption(entry, worth * factor, text === excerpt.text ? excerpt : { leans });
  }

  #addSaid({ at, excerpts }: Turn): void {
    if (at > this.#lastAt + 1) this.#lastSaid = -1;
    this.#lastAt = at;
    for (const part of excerpts.parts) {
      if (part.kind === 'asked') {
        const question = this.#options[this.#lastSaid];
        if (question && part.text.length <= SHORT_REPLY)
          this.#options[this.#lastSaid] = { ...question, worth: question.worth * WORTH_OF_QUESTION };
        const text = this.#input.standing.has(excerpts) ? cutLine(part.text, STANDING_REQUEST) : part.text;
        this.#addMust({ kind: 'asked', at, text }, part.terms);
      } else if (part.kind === 'said') {
        this.#lastSaid = this.#options.length;
        this.#addExcerpt(part, at);
      } else if (part.kind === 'found' && part.callId === undefined) this.#addExcerpt(part, at);
    }
  }

  /** Marks the lines of a text as quoted. Returns whether one of them was not. */
  #quote(text: string): boolean {
    const { size } = this.#quoted;
    for (const line of text.split('\n')) this.#quoted.add(line);
    return this.#quoted.size > size;
  }

  #addCall(
    { at, excerpts }: Turn,
    made: Made,
    lists: Lists,
    longestAnswer: number,
    boilerplate: Boilerplate,
    stale: StaleLines,
  ): void {
    const { use, looks, result, mendedAt } = made;
    const written = excerpts.parts.filter((part) => part.kind === 'wrote' && part.callId === use.id);
    const list = lists.get(use);
    const isShort = written.reduce((sum, { text }) => sum + text.length, 0) <= 2 * ARGUMENT;
    const whole = result ? boilerplate.strip(result.block, resultText(result.block)) : '';
    const fresh = stale.of(made);
    // A longer text does not count as an outcome, unless the call failed.
    const text = result && outcomeOf(result.block, use).failed ? whole : fresh(whole, undefined, OUTCOME);
    const { outcome, ...end } = ending(use, result?.block, text, OUTCOME);
    // A longer answer becomes an excerpt, which is included only if there is room.
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
    this.#addMust(call);
    if (list) this.#addMust(list);
    const isListed = (text: string) => list?.items.some((item) => item.includes(text));
    // The call's line already shows short content in full, unless it is a change (`−` and `+`), which may be shortened.
    const isInLine = isShort && !call.args.some(({ key }) => key === '+');
    for (const part of isInLine ? [] : written) {
      if (!isListed(part.text) && this.#quote(part.text)) this.#addExcerpt(part, at);
    }
    const isWhole = isTold && text.length <= OUTCOME;
    const parts = result?.numbered.excerpts.parts.filter((part) => part.callId === use.id) ?? [];
    const asked = new Set(termsOf(argumentsText(call)));
    for (let index = 0; index < parts.length && result; index++) {
      const part = parts[index] as Excerpt;
      const isEnd = part.opens || index === parts.length - 1;
      const found = fresh(isEnd ? boilerplate.strip(result.block, part.text) : part.text, this.#quoted);
      this.#quote(found);
      if (found.length <= SHORTEST_EXCERPT || (isWhole && found.length <= OUTCOME)) continue;
      this.#addExcerpt(part, result.numbered.at, found, answering(asked, part.terms));
    }
  }
}

/** Returns the factor for a result excerpt, which grows with the words that it shares with its call. */
function answering(asked: ReadonlySet<number>, terms: Terms): number {
  let held = 0;
  for (const term of terms) if (asked.has(term)) held++;
  return 1 + WORTH_OF_ANSWER * Math.min(1, held / Math.max(FEWEST_ASKED, asked.size / 2));
}

/** Merges calls with the same line and outcome into one entry that lists the message numbers of all. */
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
  for (const { index, call, again, isAlike } of first.values()) {
    const { order } = kept[index] as Draft;
    if (again.length > 0)
      kept[index] = must({ ...call, again, ...(isAlike ? { isAlike } : {}) }, order, price);
  }
  return kept;
}

/** Returns the line of a call without its number. */
const lineOf = memoize((call: Call) => argumentsText(call) + endText(call));

/** Returns the oldest requests if all requests together cost more than `room`. */
function oldRequests(drafts: readonly Draft[], room: number): ReadonlySet<Draft> {
  let left = room;
  const requests = drafts.filter(({ entry }) => entry.kind === 'asked').reverse();
  return new Set(
    requests.filter(({ cost }) => {
      left -= cost;
      return left < 0;
    }),
  );
}

function asOption(request: Draft): Draft {
  const { entry, terms } = request;
  const own = terms.length > 0 || entry.kind !== 'asked' ? terms : termsOf(entry.text);
  return { ...request, worth: WORTH_OF_REQUEST, terms: own };
}

/**
 * Cuts the lines of calls to the greatest common length that fits their share of the room. If even the shortest lines do not fit,
 * collapses the oldest calls into one count per tool.
 */
function* fitted(drafts: readonly Draft[], room: number, price: Price): Work<readonly Draft[]> {
  const lengths: { readonly cost: number; readonly length: number }[] = [];
  for (const { entry, cost } of drafts) {
    if (isCall(entry)) lengths.push({ cost, length: lineOf(entry).length });
    if (isTimeToRest()) yield;
  }
  // The cost of a shortened line is estimated in proportion to its length.
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
      shown.push(short === draft.entry ? draft : must(short, draft.order, price));
    }
    return shown;
  };
  const shown = yield* cut(drafts);
  yield;
  const { rest, counted } = countOldest(shown, room * MOST_CALLS);
  yield;
  if (!counted) return shown;
  const first = shown.findIndex(({ entry }) => isCall(entry) || entry.kind === 'counted');
  // Restores a file's full path at its next mention if the line that introduced it was collapsed into the count.
  const left = yield* cut(drafts.filter(({ order }) => rest.has(order)));
  return left.toSpliced(first, 0, must(counted, (shown[first] as Draft).order, price));
}

/** Collapses the oldest calls into counts until all required drafts fit in `room`. Failed calls are collapsed last. */
function countOldest(
  drafts: readonly Draft[],
  room: number,
): { readonly rest: ReadonlySet<number>; readonly counted: Entry | undefined } {
  let excess = drafts.reduce((sum, { cost }) => sum + cost, -room);
  const rest = new Set(drafts.map(({ order }) => order));
  const counts = new Map<string, number>();
  let at: number | undefined;
  let to = 0;
  const count = (tool: string, times: number) => counts.set(tool, (counts.get(tool) ?? 0) + times);
  // A count shows neither answers nor failures, so calls with an answer are kept longer, and failed ones longest.
  const rank = ({ entry }: Draft) => {
    if (!isCall(entry)) return 0;
    if (entry.end === 'failed') return 2;
    return entry.kind === 'looked' && entry.outcome === undefined ? 0 : 1;
  };
  for (const { entry, cost, order } of drafts.toSorted((one, other) => rank(one) - rank(other))) {
    if (excess <= 0) break;
    if (!isCall(entry) && entry.kind !== 'counted') continue;
    excess -= cost;
    rest.delete(order);
    at = Math.min(at ?? entry.at, entry.at);
    if (entry.kind === 'counted') for (const { tool, times } of entry.counts) count(tool, times);
    else count(entry.tool, 1 + (entry.again?.length ?? 0));
    to = Math.max(to, entry.kind === 'counted' ? entry.to : entry.at);
  }
  if (at === undefined) return { rest, counted: undefined };
  const all = [...counts].map(([tool, times]) => ({ tool, times }));
  return { rest, counted: { kind: 'counted', at, to, counts: all } };
}
