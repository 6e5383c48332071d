import { estimateCounter, type Message } from '@x/core';
import { isTimeToRest, type Work } from '@x/core/internal';
import { countMessages } from '@x/core/messages';
import { isUserRequest } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import { Choice, type Utterance } from './choose-excerpts.js';
import { byOrder, type Draft, draftsOf, type RecordInput } from './drafts.js';
import { type Entry, isCall, renderEntries } from './entry.js';
import { type Mention, namesIn, rankedNames } from './names.js';
import { type Terms, termsOf } from './terms.js';
import type { Numbered } from './turns.js';

/** The share of a record for names that occur nowhere else in it. */
const NAMES_SHARE = 0.15;
/** The maximum share of a record for what the assistant said, so that a talkative assistant does not crowd out tool results. */
const STATEMENTS_SHARE = 0.25;
/** Maximum number of names from one message. The many names of a long table mean little without its rows. */
const MOST_OF_ONE = 40;
/** Tokens of an entry's markup, without its text. */
const FRAME = 4;

/** Approximate number of messages that are sampled to estimate the tokens of all. */
const SAMPLE = 50;
/** The share of a record that may stay unused before more excerpts are chosen. */
const SPARE_SHARE = 0.04;

/**
 * Writes the record of messages, in order: the user's requests, the calls with their outcomes, and the excerpts of statements,
 * results and written content that the conversation relied on most. Works in any language, because excerpts are chosen by the
 * later use of their terms.
 */
export function* writeRecord(input: RecordInput): Work<readonly Entry[]> {
  const { earlier, covered, staying, room, meter } = input;
  const ratio = tokensPerEstimate(covered, meter);
  const price = (estimate: number) => estimate * ratio;
  const { musts, options } = yield* draftsOf(input, price);
  const utterances: Utterance[] = [];
  for (const entry of earlier) {
    utterances.push({ at: entry.at, terms: termsOf(renderEntries([entry])), by: speakerOf(entry.kind) });
    if (isTimeToRest()) yield;
  }
  const later = staying.map((excerpts) => ({ at: Number.POSITIVE_INFINITY, excerpts }));
  for (const { at, excerpts } of [...covered, ...later])
    utterances.push({ at, terms: excerpts.terms, by: byOf(excerpts.message) });
  const openRequest = [...covered, ...later].findLast(({ excerpts }) =>
    isUserRequest(excerpts.message),
  )?.excerpts;
  const choice = yield* Choice.among(
    options,
    utterances,
    termsThatStand(input, musts),
    openRequest?.terms ?? [],
  );
  const forNames = room * NAMES_SHARE;
  const most = room - forNames;
  const left = most - musts.reduce((sum, draft) => sum + draft.cost, 0);
  yield* choice.take(left, room * STATEMENTS_SHARE);
  yield;
  const needed = meter.text(renderEntries(inOrder(musts, choice.chosen)));
  // Costs are estimates. If the text is shorter than estimated, there is room for more.
  if (most - needed > room * SPARE_SHARE) {
    const more = left * (most / needed - 1);
    yield* choice.take(more, more * STATEMENTS_SHARE);
  }
  yield;
  const { entries, tokens } = yield* fitted(musts, choice.chosen, most, meter);
  const unused = Math.min(forNames, room - tokens);
  const names = yield* namesBeside(entries, input, unused, (text) => price(estimateCounter.count(text)));
  return [...entries, ...names];
}

/** Yields the terms that the reader sees anyway, one list at a time so that the caller can pause. */
function* termsThatStand(
  { staying, standing, narrative }: RecordInput,
  musts: readonly Draft[],
): Iterable<Terms> {
  for (const { entry, terms } of musts) yield terms.length > 0 ? terms : termsOf(renderEntries([entry]));
  for (const { terms } of [...staying, ...standing]) yield terms;
  yield termsOf(narrative ?? '');
}

/** Returns the names that are neither in the entries nor in the staying messages, grouped by the message of their last mention. */
function* namesBeside(
  entries: readonly Entry[],
  { earlier, covered, staying, standing, narrative = '' }: RecordInput,
  room: number,
  tokensOf: (text: string) => number,
): Work<readonly Entry[]> {
  const mentions: Mention[] = [];
  for (const entry of earlier) {
    mentions.push({ names: namesOf(entry), at: entry.at, by: 'assistant' });
    if (isTimeToRest()) yield;
  }
  for (const { at, excerpts } of covered) {
    const { message, names, passed } = excerpts;
    mentions.push({ names, at, by: byOf(message) }, { names: passed, at, by: 'passed' });
  }
  const held = new Set(namesIn(narrative, true));
  for (const entry of entries) {
    for (const name of namesIn(renderEntries([entry]), true)) held.add(name);
    if (isTimeToRest()) yield;
  }
  for (const { names, passed } of [...staying, ...standing]) {
    for (const name of names) held.add(name);
    for (const name of passed) held.add(name);
  }
  const taken = new Map<number, string[]>();
  let left = room;
  for (const [name, at] of yield* rankedNames(mentions)) {
    if (held.has(name)) continue;
    const line = taken.get(at);
    const cost = tokensOf(` ${name}`) + (line ? 0 : FRAME);
    if (line && line.length >= MOST_OF_ONE) continue;
    if (cost > left) break;
    left -= cost;
    if (line) line.push(name);
    else taken.set(at, [name]);
  }
  return [...taken]
    .sort(([one], [other]) => one - other)
    .map(([at, names]) => ({ kind: 'named', at, names }));
}

/** Returns the names in an entry of an earlier record. Ignores names that were cut. */
function namesOf(entry: Entry): readonly string[] {
  if (entry.kind === 'named') return entry.names;
  const said = 'text' in entry ? entry.text : renderEntries([entry]);
  const text = isCall(entry) ? [entry.file, ...entry.args.map((argument) => argument.text)].join(' ') : said;
  return namesIn(text.replaceAll(/(?<!\S)[^\s…]*…\S*/g, ' '), isCall(entry));
}

function inOrder(musts: readonly Draft[], chosen: readonly Draft[]): readonly Entry[] {
  // A candidate without any gain may be chosen again.
  return [...new Set([...musts, ...chosen])].sort(byOrder).map(({ entry }) => entry);
}

/** Returns the entries in order with their tokens. Removes the last chosen entries until the text fits. */
function* fitted(
  musts: readonly Draft[],
  chosen: readonly Draft[],
  room: number,
  meter: Meter,
): Work<{ readonly entries: readonly Entry[]; readonly tokens: number }> {
  const rest = [...chosen];
  for (;;) {
    yield;
    const entries = inOrder(musts, rest);
    const tokens = meter.text(renderEntries(entries));
    let excess = tokens - room;
    if (excess <= 0 || rest.length === 0) return { entries, tokens };
    while (excess > 0 && rest.length > 0) excess -= (rest.pop() as Draft).cost;
  }
}

/** Returns the meter's tokens per estimated token, measured on a sample of the messages. */
function tokensPerEstimate(covered: readonly Numbered[], meter: Meter): number {
  const step = Math.max(1, Math.floor(covered.length / SAMPLE));
  const sample = covered.flatMap(({ excerpts }, index) => (index % step === 0 ? excerpts.message : []));
  const estimate = countMessages(estimateCounter, sample);
  return estimate === 0 ? meter.ratio : meter.messages(sample) / estimate;
}

function byOf(message: Message): Utterance['by'] {
  if (message.role === 'assistant') return 'assistant';
  return message.role === 'user' && message.kind === undefined ? 'user' : 'tool';
}

function speakerOf(kind: Entry['kind']): Utterance['by'] {
  if (kind === 'asked') return 'user';
  return kind === 'found' ? 'tool' : 'assistant';
}
