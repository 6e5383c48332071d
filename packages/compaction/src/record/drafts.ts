import { estimateCounter } from '@x/core';
import { digest, jsonText, type Work } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { commandOf } from '../conversation/tool-calls.js';
import type { Meter } from '../meter.js';
import { boilerplateOf, callLine, cutEnd, cutLine, shortenedCall } from './calls.js';
import type { Candidate } from './choose-excerpts.js';
import type { Entry } from './entry.js';
import { type Excerpt, type Excerpts, joinLines } from './excerpts.js';
import { newestLists } from './lists.js';
import { resultText } from './readable.js';
import { termsOf } from './terms.js';
import { endOf, FAILED, type Numbered, type Turn, turnsOf } from './turns.js';

const NO_TERMS = new Uint32Array();

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
/** The factor for a statement that a short reply answers. */
const WORTH_OF_QUESTION = 3;
const LONGEST_QUESTION = 160;
/** UTF-16 units of the arguments of a call that changed nothing, and of the answer that stands behind them where there is room. */
const MOST_LOOKED = 70;
const SHORT_ANSWER = 50;
/** What a token holds about. */
const UNITS_PER_TOKEN = 4;
/** The share of a record that calls may take before they are said more shortly. */
const CALLS_SHARE = 0.4;
/** The share of a record that lists may take which stand whole. */
const LISTS_SHARE = 0.15;
/** The share that they may take in any case: beyond it the oldest are counted, tool by tool. */
const MOST_CALLS = 0.65;
/** UTF-16 units of a request that stands in full elsewhere. */
const STANDING_REQUEST = 32;
/** A reply of fewer UTF-16 units says little without what it answers. */
const SHORT_REPLY = 60;
/** UTF-16 units below which an excerpt of a result tells nothing. */
const SHORTEST_EXCERPT = 12;
/** The numbers of a call that was made again in the same words, or in words that are the same but for what is cut. */
const AGAIN = / \((again|alike):(?: r\d+)+\)$/;
/** A line that counts calls, tool by tool, up to a message. */
const COUNTED = /^[^\s,]+ ×\d+(?:, [^\s,]+ ×\d+)*(?: \(to r(\d+)\))?$/;

/** Something that may enter a record. */
export interface Draft extends Candidate {
  /** Enters in any case. */
  readonly must: boolean;
  /** The digest of a call's input, where its line is cut: others may have the same line. */
  readonly whole?: string | undefined;
  /** A command that changes something: its words stay as they were, as it may be run again. */
  readonly isCommand?: boolean;
}

/** Everything that may enter the record, in its order: calls and requests as long as there is room for them. */
export function* draftsOf(input: RecordInput, costOf: (estimate: number) => number): Work<readonly Draft[]> {
  const cost = (text: string) => costOf(estimateCounter.count(text));
  const turns = yield* turnsOf(input.covered, input.tools);
  const drafts = yield* withoutRepeats(yield* allDrafts(input, turns, costOf), cost);
  fitCalls(drafts, input.room * CALLS_SHARE, cost);
  leaveOldRequests(drafts, input.room * REQUESTS_SHARE);
  return countOldest(drafts, input.room * MOST_CALLS, cost);
}

/** Cuts the lines of calls to one length, the longest with which they fit the room. */
function fitCalls(drafts: Draft[], room: number, cost: (text: string) => number): void {
  const calls = drafts.filter(({ kind }) => isCall(kind));
  // A shortened line is not counted to know about what it would cost.
  const total = (length: number) =>
    calls.reduce((sum, { text, cost }) => sum + cost * Math.min(1, length / text.length), 0);
  const longest = Math.max(0, ...calls.map(({ text }) => text.length));
  let length = longest;
  while (length > SHORTEST_CALL && total(length) > room) length *= 0.9;
  if (length === longest) return;
  for (const [index, draft] of drafts.entries()) {
    if (!isCall(draft.kind) || draft.text.length <= length) continue;
    const text = shortened(draft.text, length);
    drafts[index] = { ...draft, text, cost: cost(text) };
  }
}

/** A path of two folders or more and a file with an ending. Bounded because the line of a call is short. */
const PATH = /(?<![\w:/.~…-])(?:[~.]{0,2}\/)?(?:[\w.@+-]+\/){2,}[\w.@+-]*\w\.[A-Za-z]\w*(?![\w/])/g;

/** The end of a path that was cut. */
const PATH_END = /…(?:\/[\w.@+-]+)+\.[A-Za-z]\w*(?![\w/])/g;
const ANY_PATH = new RegExp(`${PATH_END.source}|${PATH.source}`, 'g');

/**
 * Says once what calls repeat: one that was made again in the same words, with the same outcome, stands once, with the
 * numbers of all. A file has its path the first time, from then on its name, behind folders where another one has that name.
 */
function* withoutRepeats(drafts: readonly Draft[], cost: (text: string) => number): Work<Draft[]> {
  const told = new Map<string, string>();
  const isShared = yield* sharedEndings(drafts);
  const first = new Map<string, { readonly index: number; readonly again: string[]; word: string }>();
  const kept: Draft[] = [];
  for (const draft of drafts) {
    yield;
    if (!isCall(draft.kind)) {
      kept.push(draft);
      continue;
    }
    const [again = '', word = 'again'] = AGAIN.exec(draft.text) ?? [];
    const text = draft.text.slice(0, draft.text.length - again.length);
    let isNew = false;
    const short = text.replaceAll(ANY_PATH, (found) => {
      const path = found.replace('…/', '');
      const endings = endingsOf(path);
      const known = endings.find((ending) => isOneFile(told.get(ending), path) && !isShared.has(ending));
      isNew ||= known === undefined;
      if (found !== path) return known ?? found;
      for (const ending of endings) if (!told.has(ending)) told.set(ending, path);
      return known ?? path;
    });
    const key = `${draft.kind} ${short}`;
    const known = first.get(key);
    const numbers = again.match(/r\d+/g) ?? [];
    if (known) {
      known.again.push(`r${draft.at}`, ...numbers);
      const { whole } = draft;
      const isSame = !text.includes('…') || (whole !== undefined && whole === kept[known.index]?.whole);
      if (word === 'alike' || !isSame) known.word = 'alike';
    } else {
      first.set(key, { index: kept.length, again: [...numbers], word });
      const shown = isNew || draft.isCommand ? text : short;
      kept.push({ ...draft, text: shown, cost: shown === draft.text ? draft.cost : cost(shown) });
    }
  }
  for (const { index, again, word } of first.values()) {
    const draft = kept[index] as Draft;
    if (again.length === 0) continue;
    const text = `${draft.text} (${word}: ${again.join(' ')})`;
    kept[index] = { ...draft, text, cost: cost(text) };
  }
  return kept;
}

/** A path's last name, with one folder in front of it, and so on up to all of it. */
function endingsOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(-1 - index).join('/'));
}

/** The endings that paths of different files have. */
function* sharedEndings(drafts: readonly Draft[]): Work<ReadonlySet<string>> {
  const owners = new Map<string, string>();
  const shared = new Set<string>();
  for (const { kind, text } of drafts) {
    yield;
    if (!isCall(kind)) continue;
    for (const [found] of text.matchAll(ANY_PATH)) {
      const path = found.replace('…/', '');
      for (const ending of endingsOf(path)) {
        const owner = owners.get(ending);
        if (owner === undefined) owners.set(ending, path);
        else if (!isOneFile(owner, path)) shared.add(ending);
      }
    }
  }
  return shared;
}

/** The name of a file, alone or behind folders, that a call is about. */
const NAMED = /(?<=^\S+ )(?:[~.]{0,2}\/)?(?:[\w.@+-]+\/)*[\w.@+-]*\w\.[A-Za-z]\w*(?=,|$| →| \()/;

/** Has a file its whole path the first time again, where the call that told it is only counted. */
function withPaths(
  drafts: readonly Draft[],
  told: readonly Draft[],
  cost: (text: string) => number,
): readonly Draft[] {
  const paths = new Map<string, string>();
  for (const { text } of told.filter(({ kind }) => isCall(kind))) {
    for (const [path] of text.matchAll(ANY_PATH))
      for (const ending of endingsOf(path)) if (!paths.has(ending)) paths.set(ending, path);
  }
  const whole = new Set<string>();
  return drafts.map((draft) => {
    if (!isCall(draft.kind) || COUNTED.test(draft.text)) return draft;
    const text = draft.text.replace(NAMED, (name) => {
      const path = paths.get(name);
      if (path === undefined || whole.has(path)) return name;
      whole.add(path);
      return path;
    });
    return text === draft.text ? draft : { ...draft, text, cost: cost(text) };
  });
}

/** Tests for paths of one file: the same, or one of them from a folder on the other's way. */
function isOneFile(one: string | undefined, other: string): boolean {
  return one === other || (one !== undefined && (one.endsWith(`/${other}`) || other.endsWith(`/${one}`)));
}

/** Leaves the oldest requests that nothing else holds to what room others leave, where they are too many. */
function leaveOldRequests(drafts: Draft[], room: number): void {
  let left = room;
  for (let index = drafts.length - 1; index >= 0; index--) {
    const draft = drafts[index] as Draft;
    if (draft.kind !== 'asked') continue;
    left -= draft.cost;
    if (left >= 0) continue;
    const terms = draft.terms.length > 0 ? draft.terms : termsOf(draft.text);
    drafts[index] = { ...draft, must: false, worth: WORTH_OF_REQUEST, terms };
  }
}

/** Tells the entries of calls from others. */
export function isCall(kind: Entry['kind']): boolean {
  return kind === 'did' || kind === 'looked';
}

function* allDrafts(
  { earlier, staying, standing, room }: RecordInput,
  turns: readonly Turn[],
  costOf: (estimate: number) => number,
): Work<Draft[]> {
  // Long because each kind of entry has a rule, and the rules share the prices and the lists of calls.
  const drafts: Draft[] = [];
  const cost = (text: string) => costOf(estimateCounter.count(text));
  const lists = newestLists(earlier, turns, staying, room * LISTS_SHARE, cost);
  const addExcerpt = ({ kind, text, terms, worth, tokens }: Excerpt, at: number) =>
    drafts.push({ kind, at, text, terms, worth, must: false, cost: costOf(tokens) });
  const add = (
    kind: Entry['kind'],
    at: number,
    text: string,
    must = true,
    worth = 1,
    more: Pick<Draft, 'whole' | 'isCommand'> = {},
  ) =>
    drafts.push({
      kind,
      at,
      text,
      must,
      worth,
      terms: must ? NO_TERMS : termsOf(text),
      cost: cost(text),
      ...more,
    });
  const addList = (list: Entry | undefined) => list && add(list.kind, list.at, list.text);
  for (const entry of earlier) {
    if (entry.kind === 'listed') addList(lists.get(entry));
    if (entry.kind === 'listed' || entry.kind === 'named') continue;
    const must = isCall(entry.kind) || entry.kind === 'asked';
    const worth = entry.kind === 'said' ? 3 : 2;
    const quote = entry.kind === 'found' || entry.kind === 'wrote';
    // Excerpts of one result are chosen one by one again.
    const texts = quote ? joinLines(entry.text.split('\n')) : [entry.text];
    for (const text of texts) add(entry.kind, entry.at, text, must, worth);
  }
  let lastSaid: number | undefined;
  const boilerplate = yield* boilerplateOf(
    turns.flatMap(({ calls }) =>
      calls.flatMap(({ use, result }) => (result ? { use, block: result.block } : [])),
    ),
  );
  const count = turns.reduce((sum, { calls }) => sum + calls.length, 0);
  const answer = Math.max(SHORT_ANSWER, (room * CALLS_SHARE * UNITS_PER_TOKEN) / count - MOST_LOOKED);
  const quoted = new Set(drafts.filter(({ kind }) => kind === 'found').map(({ text }) => text));
  for (const { at, excerpts, calls } of turns) {
    yield;
    const { parts } = excerpts;
    const [asked] = parts;
    if (asked?.kind === 'asked') {
      const { text } = asked;
      if (text.length <= SHORT_REPLY && lastSaid !== undefined) {
        const said = drafts[lastSaid] as Draft;
        const question = cutLine(said.text, LONGEST_QUESTION);
        drafts[lastSaid] = {
          ...said,
          text: question,
          cost: cost(question),
          worth: said.worth * WORTH_OF_QUESTION,
        };
      }
      if (standing.has(excerpts)) add('asked', at, cutLine(text, STANDING_REQUEST));
      else drafts.push({ ...asked, at, must: true, cost: costOf(asked.tokens) });
      continue;
    }
    for (const part of parts) {
      if (part.kind !== 'said') continue;
      addExcerpt(part, at);
      lastSaid = drafts.length - 1;
    }
    for (const call of calls) {
      const { use, result } = call;
      const written = parts.filter((part) => part.kind === 'wrote' && part.callId === use.id);
      const isShort = written.reduce((sum, { text }) => sum + text.length, 0) <= 2 * ARGUMENT;
      const list = lists.get(use);
      const line = callLine(use, call.looks ? MOST_LOOKED : isShort && !list ? 2 * ARGUMENT : ARGUMENT);
      const outcome = endOf(call, OUTCOME, boilerplate);
      // An answer is chosen by its use, unless it is a word or two.
      const told = outcome.length <= answer || outcome.startsWith(FAILED);
      const text = told ? `${line}${outcome}` : line;
      add(call.looks ? 'looked' : 'did', at, text, true, 1, {
        whole: line.includes('…') ? digest(jsonText(use.input)) : undefined,
        isCommand: !call.looks && commandOf(use) !== undefined,
      });
      addList(list);
      // What is short stands in its line.
      for (const part of isShort && !call.looks ? [] : written)
        if (!list?.text.includes(part.text)) addExcerpt(part, at);
      if (!result) continue;
      const shown = result.numbered;
      // A short answer stands behind its call already.
      const short = told && boilerplate.strip(result.block, resultText(result.block)).length <= OUTCOME;
      for (const part of shown.excerpts.parts) {
        if (part.kind !== 'found' || part.callId !== use.id) continue;
        const text = boilerplate.strip(result.block, part.text);
        // Looked up again, the same says nothing new.
        if (quoted.has(text)) continue;
        quoted.add(text);
        if (text.length > SHORTEST_EXCERPT && !(short && text.length <= OUTCOME)) {
          addExcerpt(
            text === part.text ? part : { ...part, text, tokens: estimateCounter.count(text) },
            shown.at,
          );
        }
      }
    }
  }
  return drafts;
}

/** The line of a call in at most `length` UTF-16 units; what counts calls or tells their numbers stays. */
function shortened(text: string, length: number): string {
  if (COUNTED.test(text)) return text;
  const again = AGAIN.exec(text)?.[0] ?? '';
  const line = text.slice(0, text.length - again.length);
  const arrow = line.lastIndexOf(' → ');
  if (arrow === -1) return shortenedCall(line, length) + again;
  const end = line.slice(arrow + 3);
  // An error tells most where it begins.
  const failed = line.startsWith(FAILED, arrow);
  const outcome = Math.max(length / 2, length - arrow);
  return `${shortenedCall(line.slice(0, arrow), Math.max(length / 2, length - end.length))} → ${failed ? cutEnd(end, outcome) : cutLine(end, outcome)}${again}`;
}

/** Makes one line of the oldest calls that counts them tool by tool, where even the shortest lines are too many. */
function countOldest(
  drafts: readonly Draft[],
  room: number,
  cost: (text: string) => number,
): readonly Draft[] {
  const total = drafts.reduce((sum, draft) => (draft.must ? sum + draft.cost : sum), 0);
  let excess = total - room;
  const start = drafts.findIndex(({ kind }) => isCall(kind));
  if (excess <= 0 || start === -1) return drafts;
  const counts = new Map<string, number>();
  let rest = drafts;
  let last = 0;
  // A failure is counted last: a number does not say that there was one.
  for (const failed of [false, true]) {
    rest = rest.filter(({ kind, at, text, cost: tokens }) => {
      if (excess <= 0 || !isCall(kind) || text.includes(FAILED) !== failed) return true;
      excess -= tokens;
      last = Math.max(last, at, Number(COUNTED.exec(text)?.[1] ?? 0));
      for (const [name, count] of countsIn(text)) counts.set(name, (counts.get(name) ?? 0) + count);
      return false;
    });
  }
  const text = `${[...counts].map(([name, count]) => `${name} ×${count}`).join(', ')} (to r${last})`;
  const counted = {
    kind: 'did',
    at: (drafts[start] as Draft).at,
    text,
    worth: 1,
    must: true,
    terms: NO_TERMS,
    cost: cost(text),
  } as const;
  return withPaths(rest, drafts, cost).toSpliced(start, 0, counted);
}

/** The tools that a line tells of: a line that counts them already, or that of one call, which may have been made again. */
function countsIn(text: string): ReadonlyMap<string, number> {
  if (!COUNTED.test(text)) return new Map([[text.split(' ', 1)[0] ?? '', 1 + againIn(text)]]);
  const counted = text.matchAll(/(?<![^\s,])([^\s,]+) ×(\d+)/g);
  return new Map([...counted].map(([, name = '', count]) => [name, Number(count)]));
}

function againIn(text: string): number {
  return AGAIN.exec(text)?.[0].match(/r\d/g)?.length ?? 0;
}
