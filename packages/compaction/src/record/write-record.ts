import { jsonText, type Message, type Redact, toolUsesOf } from '@x/core';
import type { Meter } from '../meter.js';
import { chooseExcerpts, type Saying } from './choose-excerpts.js';
import { type CommonFolder, commonFolder } from './common-folder.js';
import { type Draft, draftsOf, isCall, type RecordInput } from './drafts.js';
import { type Entry, renderEntries } from './entry.js';
import { excerptsOf } from './excerpts.js';
import { NAME_WEIGHT, NameRanking, namesIn } from './names.js';
import { termsOf } from './terms.js';

/** The share of a record for names that nothing else in it holds. */
const NAMES_SHARE = 0.1;
/** Tokens that an entry needs beside its text. */
const FRAME = 4;

/** A record: its entries, and the line that says which folder they shorten. */
export interface WrittenRecord {
  readonly entries: readonly Entry[];
  readonly legend: string;
}
/**
 * The record of messages: in their order what the user asked, every call with its outcome, and of statements, results and
 * written content the excerpts that hold most of what was relied on later. Works in any language: what is kept is told
 * by use, not by words.
 */
export function writeRecord(recorded: RecordInput): WrittenRecord {
  const input = withoutSecrets(recorded);
  const { earlier, covered, staying, room, meter, redact } = input;
  const messages = covered.map(({ message }) => message);
  const perUnit = tokensPerUnit(messages, meter, redact);
  const cost = (text: string) => text.length * perUnit + FRAME;
  const folder = commonFolder(pathTexts(input));
  const drafts = draftsOf(input, folder, cost);

  const calls = drafts.filter(({ must }) => must);
  const sayings: Saying[] = [
    ...earlier.map(({ at, text, kind }) => ({ at, terms: termsOf(text), by: speakerOf(kind) })),
    ...covered.map(({ at, message }) => ({
      at,
      terms: excerptsOf(message, redact).terms,
      by: byOf(message),
    })),
    ...staying.map((message) => ({
      at: Number.POSITIVE_INFINITY,
      terms: excerptsOf(message, redact).terms,
      by: byOf(message),
    })),
  ];
  const standing = [
    ...calls.map(({ text }) => termsOf(text)),
    ...staying.map((message) => excerptsOf(message, redact).terms),
    ...[...input.standing].map((message) => excerptsOf(message, redact).terms),
  ];
  const left = room * (1 - NAMES_SHARE) - calls.reduce((sum, draft) => sum + draft.cost, 0);
  const chosen = chooseExcerpts(
    drafts.filter(({ must }) => !must),
    sayings,
    standing,
    left,
  );
  const entries = fitted([...calls, ...chosen], drafts, chosen, room * (1 - NAMES_SHARE), meter);
  const unused = Math.min(room * NAMES_SHARE, room - meter.text(renderEntries(entries)));
  return { entries: [...entries, ...namesBeside(entries, input, folder, unused)], legend: folder.legend };
}

/** Takes secrets out before anything is cut: nothing would recognize half of one. */
function withoutSecrets(input: RecordInput): RecordInput {
  const clean = (message: Message) => excerptsOf(message, input.redact).message;
  return {
    ...input,
    covered: input.covered.map(({ at, message }) => ({ at, message: clean(message) })),
    standing: new Set([...input.standing].map(clean)),
  };
}

/** Names that neither the entries nor the messages that stay hold, by the message where each was last seen. */
function namesBeside(
  entries: readonly Entry[],
  { earlier, covered, staying, standing, meter, redact }: RecordInput,
  folder: CommonFolder,
  room: number,
): readonly Entry[] {
  const ranking = new NameRanking();
  for (const { kind, at, text } of earlier) {
    ranking.add(kind === 'named' ? text.split(' ') : namesIn(text, isCall(kind)), at, NAME_WEIGHT.said);
  }
  for (const { at, message } of covered) {
    const { names, passed } = excerptsOf(message, redact);
    const by = byOf(message);
    ranking.add(
      names,
      at,
      by === 'user' ? NAME_WEIGHT.user : by === 'assistant' ? NAME_WEIGHT.said : NAME_WEIGHT.printed,
    );
    ranking.add(passed, at, NAME_WEIGHT.passed);
  }
  const held = new Set<string>();
  for (const { text } of entries) for (const name of namesIn(text, true)) held.add(name);
  for (const message of [...staying, ...standing]) {
    const { names, passed } = excerptsOf(message, redact);
    for (const name of names) held.add(name);
    for (const name of passed) held.add(name);
  }
  const taken = new Map<number, string[]>();
  let left = room;
  for (const { name, at } of ranking.ranked()) {
    const short = folder.shorten(name);
    if (held.has(name) || held.has(short)) continue;
    const line = taken.get(at);
    const cost = meter.text(` ${short}`) + (line ? 0 : FRAME);
    if (cost > left) break;
    left -= cost;
    if (line) line.push(short);
    else taken.set(at, [short]);
  }
  return [...taken]
    .sort(([one], [other]) => one - other)
    .map(([at, names]) => ({ kind: 'named', at, text: names.join(' ') }));
}
/** The entries in their order, less those chosen last while the text is longer than the estimate said. */
function fitted(
  taken: readonly Draft[],
  order: readonly Draft[],
  chosen: readonly Draft[],
  room: number,
  meter: Meter,
): readonly Entry[] {
  const inside = new Set(taken);
  const rest = [...chosen];
  for (;;) {
    const entries = order.filter((draft) => inside.has(draft));
    const excess = meter.text(renderEntries(entries)) - room;
    if (excess <= 0 || rest.length === 0) return entries;
    for (let saved = 0; saved < excess && rest.length > 0; ) {
      const last = rest.pop() as Draft;
      inside.delete(last);
      saved += last.cost;
    }
  }
}
/** Yields the texts in which paths are likely to stand: earlier entries and the arguments of calls. */
function* pathTexts({ earlier, covered }: RecordInput): Iterable<string> {
  for (const { text } of earlier) yield text;
  for (const { message } of covered) {
    for (const { input } of toolUsesOf(message)) yield jsonText(input).slice(0, 2_000);
  }
}

function tokensPerUnit(messages: readonly Message[], meter: Meter, redact: Redact | undefined): number {
  let units = 0;
  for (const message of messages)
    for (const { text } of excerptsOf(message, redact).parts) units += text.length;
  const tokens = meter.messages(messages);
  return units > 0 ? Math.min(1.5, Math.max(0.2, tokens / units)) : 0.3;
}

function byOf(message: Message): Saying['by'] {
  if (message.role === 'assistant') return 'assistant';
  return message.role === 'user' && message.kind === undefined ? 'user' : 'tool';
}

function speakerOf(kind: Entry['kind']): Saying['by'] {
  if (kind === 'asked') return 'user';
  return kind === 'found' ? 'tool' : 'assistant';
}
