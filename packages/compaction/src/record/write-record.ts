import {
  jsonText,
  type Message,
  type Redact,
  type ToolDefinition,
  type ToolResultBlock,
  type ToolUseBlock,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import { isUserRequest } from '../conversation/regions.js';
import { shellFiles } from '../conversation/shell-files.js';
import { commandOf, effectOf, pathOf } from '../conversation/tool-calls.js';
import type { Meter } from '../meter.js';
import { type Boilerplate, boilerplateOf, callLine, cutLine, outcomeText } from './calls.js';
import { type Candidate, chooseExcerpts, type Saying } from './choose-excerpts.js';
import { type CommonFolder, commonFolder } from './common-folder.js';
import { type Entry, renderEntries } from './entry.js';
import { excerptsOf } from './excerpts.js';
import { NAME_WEIGHT, NameRanking, namesIn } from './names.js';
import { termsOf } from './terms.js';

const NO_TERMS = new Uint32Array();

/** A message with its running number in the session. */
export interface Numbered {
  readonly at: number;
  readonly message: Message;
}

/** What a record is made of. */
export interface RecordInput {
  /** The entries of earlier records, which the new one takes over. */
  readonly earlier: readonly Entry[];
  /** The messages to record, in order. */
  readonly covered: readonly Numbered[];
  /** The messages that stay as they are: what they hold is not recorded, and what they use counts. */
  readonly staying: readonly Message[];
  /** Requests among the covered that stand in front of the record in full. */
  readonly standing: ReadonlySet<Message>;
  /** The definitions of the tools, as far as they are known: they say which calls change nothing. */
  readonly tools: readonly ToolDefinition[];
  /** Tokens that the record may have. */
  readonly room: number;
  readonly meter: Meter;
  readonly redact: Redact | undefined;
}

/** UTF-16 units of a call's arguments and of its outcome: tried from the first to the last until calls leave room for the rest. */
const CALL_LENGTHS = [
  { argument: 110, outcome: 140 },
  { argument: 80, outcome: 110 },
  { argument: 60, outcome: 80 },
  { argument: 40, outcome: 50 },
] as const;
const SHORTEST_CALL = { argument: 24, outcome: 24 };
/** The share of a record for requests that stand nowhere else, and what an older one counts beside other entries. */
const REQUESTS_SHARE = 0.35;
const WORTH_OF_REQUEST = 4;
/** How much more a statement counts that a short reply answers. */
const WORTH_OF_QUESTION = 3;
const LONGEST_QUESTION = 160;
/** UTF-16 units of the arguments of a call that changed nothing. */
const MOST_LOOKED = 50;
/** The share of a record for names that nothing else in it holds. */
const NAMES_SHARE = 0.1;
/** The share of a record that calls may take before they are said more shortly. */
const CALLS_SHARE = 0.35;
/** The share that they may take in any case: beyond it the oldest are counted, tool by tool. */
const MOST_CALLS = 0.65;
/** UTF-16 units of a request that stands in full elsewhere, and of one that does not. */
const STANDING_REQUEST = 32;
const FOLDED_REQUEST = 400;
/** A reply of fewer UTF-16 units says little without what it answers. */
const SHORT_REPLY = 60;
/** UTF-16 units below which an excerpt of a result tells nothing. */
const SHORTEST_EXCERPT = 12;
/** Tokens that an entry needs beside its text. */
const FRAME = 4;

/** A record: its entries, and the line that says which folder they shorten. */
export interface WrittenRecord {
  readonly entries: readonly Entry[];
  readonly legend: string;
}

interface CallLengths {
  readonly argument: number;
  readonly outcome: number;
}

interface Draft extends Candidate {
  /** Enters in any case. */
  readonly must: boolean;
}

/**
 * The record of messages: in their order what the user asked, every call with its outcome, and of statements, results and
 * written content the excerpts that hold most of what was relied on later. Works in any language: what is kept is told
 * by use, not by words.
 */
export function writeRecord(input: RecordInput): WrittenRecord {
  const { earlier, covered, staying, room, meter, redact } = input;
  const messages = covered.map(({ message }) => message);
  const perUnit = tokensPerUnit(messages, meter);
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

/** Everything that may enter the record, in its order: calls and requests as long as there is room for them. */
function draftsOf(
  input: RecordInput,
  folder: CommonFolder,
  cost: (text: string) => number,
): readonly Draft[] {
  const drafts = withoutRepeats(allDrafts(input, turnsOf(input), folder, cost), cost);
  const { room } = input;
  const calls = (lengths: CallLengths) => {
    let sum = 0;
    for (const { kind, text } of drafts) if (isCall(kind)) sum += cost(shortened(text, lengths));
    return sum;
  };
  const lengths = CALL_LENGTHS.find((candidate) => calls(candidate) <= room * CALLS_SHARE) ?? SHORTEST_CALL;
  if (lengths !== CALL_LENGTHS[0]) {
    for (const [index, draft] of drafts.entries()) {
      if (!isCall(draft.kind)) continue;
      const text = shortened(draft.text, lengths);
      drafts[index] = { ...draft, text, cost: cost(text) };
    }
  }
  leaveOldRequests(drafts, room * REQUESTS_SHARE);
  return countOldest(drafts, room * MOST_CALLS, cost);
}

/** A call that was made again in the same words, with the same outcome, stands once, with the numbers of all. */
function withoutRepeats(drafts: readonly Draft[], cost: (text: string) => number): Draft[] {
  const first = new Map<string, { readonly index: number; readonly again: number[] }>();
  const kept: Draft[] = [];
  for (const draft of drafts) {
    const key = isCall(draft.kind) ? `${draft.kind} ${draft.text}` : undefined;
    const known = key === undefined ? undefined : first.get(key);
    if (known) known.again.push(draft.at);
    else {
      if (key !== undefined) first.set(key, { index: kept.length, again: [] });
      kept.push(draft);
    }
  }
  for (const { index, again } of first.values()) {
    if (again.length === 0) continue;
    const draft = kept[index] as Draft;
    const text = `${draft.text} (again: ${again.map((at) => `r${at}`).join(' ')})`;
    kept[index] = { ...draft, text, cost: cost(text) };
  }
  return kept;
}

/** Where requests that nothing else holds are too many, the oldest enter only as far as others leave room. */
function leaveOldRequests(drafts: Draft[], room: number): void {
  let left = room;
  for (let index = drafts.length - 1; index >= 0; index--) {
    const draft = drafts[index] as Draft;
    if (draft.kind !== 'asked') continue;
    left -= draft.cost;
    if (left < 0)
      drafts[index] = { ...draft, must: false, worth: WORTH_OF_REQUEST, terms: termsOf(draft.text) };
  }
}

function isCall(kind: Entry['kind']): boolean {
  return kind === 'did' || kind === 'looked';
}

/** A covered message with, for one of the assistant, its calls and how they ended. */
interface Turn extends Numbered {
  readonly calls: readonly Call[];
}

interface Call {
  readonly use: ToolUseBlock;
  readonly looks: boolean;
  result: { readonly block: ToolResultBlock; readonly numbered: Numbered } | undefined;
  /** The number of a later message in which the same was done with success. */
  mendedAt: number | undefined;
}

function turnsOf({ covered, tools }: RecordInput): readonly Turn[] {
  const declared = new Map(tools.map(({ name, annotations }) => [name, annotations?.readOnly]));
  const open = new Map<string, Call>();
  const failed = new Map<string, Call>();
  return covered.map((numbered) => {
    const calls = toolUsesOf(numbered.message).map((use): Call => {
      const call = {
        use,
        looks: looksOnly(use, declared.get(use.name)),
        result: undefined,
        mendedAt: undefined,
      };
      open.set(use.id, call);
      return call;
    });
    for (const block of toolResultsOf(numbered.message)) {
      const call = open.get(block.toolUseId);
      if (!call) continue;
      call.result = { block, numbered };
      const key = `${call.use.name} ${pathOf(call.use) ?? commandOf(call.use) ?? jsonText(call.use.input)}`;
      if (outcomeText(block, 1).startsWith('f') && outcomeText(block, 40).startsWith('failed'))
        failed.set(key, call);
      else {
        const before = failed.get(key);
        if (before) before.mendedAt = numbered.at;
        failed.delete(key);
      }
    }
    return { ...numbered, calls };
  });
}

/** Whether a call changes nothing: by the tool's word; where it says nothing, by its name or its command line. */
function looksOnly(use: ToolUseBlock, readOnly: boolean | undefined): boolean {
  if (readOnly !== undefined) return readOnly;
  const command = commandOf(use);
  if (command !== undefined && pathOf(use) === undefined) return shellFiles(command).onlyReads;
  return effectOf(use.name, false) === 'read';
}

function allDrafts(
  { earlier, standing, redact }: RecordInput,
  turns: readonly Turn[],
  folder: CommonFolder,
  cost: (text: string) => number,
): Draft[] {
  const drafts: Draft[] = [];
  const clean = (text: string) => (redact ? redact(text) : text);
  const add = (
    draft: Entry & { readonly worth?: number; readonly must: boolean; readonly terms?: Uint32Array },
  ) => {
    const text = folder.shorten(draft.text);
    drafts.push({
      ...draft,
      text,
      worth: draft.worth ?? 1,
      terms: draft.terms ?? (draft.must ? NO_TERMS : termsOf(draft.text)),
      cost: cost(text),
    });
  };
  for (const entry of earlier) {
    if (entry.kind === 'named') continue;
    add({
      ...entry,
      must: isCall(entry.kind) || entry.kind === 'asked',
      worth: entry.kind === 'said' ? 3 : 2,
    });
  }
  let lastSaid: number | undefined;
  const boilerplate = boilerplateOf(turns.flatMap(({ message }) => toolResultsOf(message)));
  for (const { at, message, calls } of turns) {
    if (isUserRequest(message)) {
      const text = textOf(message).trim() || '(a file)';
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
      const length = standing.has(message) ? STANDING_REQUEST : FOLDED_REQUEST;
      add({ kind: 'asked', at, text: `user: ${clean(cutLine(text, length))}`, must: true });
      continue;
    }
    const { parts } = excerptsOf(message, redact);
    for (const part of parts) {
      if (part.kind !== 'said') continue;
      add({ ...part, at, must: false });
      lastSaid = drafts.length - 1;
    }
    for (const call of calls) {
      const { use, result } = call;
      const line = callLine(use, call.looks ? MOST_LOOKED : CALL_LENGTHS[0].argument, folder.shorten);
      add({
        kind: call.looks ? 'looked' : 'did',
        at,
        text: clean(`${line}${outcomeOf(call, CALL_LENGTHS[0].outcome, boilerplate)}`),
        must: true,
      });
      for (const part of parts)
        if (part.kind === 'wrote' && part.callId === use.id) add({ ...part, at, must: false });
      if (!result) continue;
      const shown = result.numbered;
      // A short answer stands behind its call already.
      const short = textOf([result.block]).length <= CALL_LENGTHS[0].outcome;
      for (const part of excerptsOf(shown.message, redact).parts) {
        if (part.kind !== 'found' || part.callId !== use.id) continue;
        const text = boilerplate.strip(use.name, part.text);
        if (text.length > SHORTEST_EXCERPT && !(short && text.length <= CALL_LENGTHS[0].outcome)) {
          add({ ...part, text, at: shown.at, must: false });
        }
      }
    }
  }
  return drafts;
}

function outcomeOf({ result, mendedAt }: Call, length: number, boilerplate: Boilerplate): string {
  const outcome = outcomeText(result?.block, length, boilerplate);
  if (mendedAt !== undefined) return ` → ${outcome} (mended in r${mendedAt})`;
  return outcome === 'ok' ? '' : ` → ${outcome}`;
}

/** The line of a call from an earlier record, with shorter arguments and outcome. */
function shortened(text: string, { argument, outcome }: CallLengths): string {
  if (argument === CALL_LENGTHS[0].argument) return text;
  const arrow = text.lastIndexOf(' → ');
  if (arrow === -1) return cutLine(text, argument + outcome);
  return `${cutLine(text.slice(0, arrow), argument + 20)} → ${cutLine(text.slice(arrow + 3), outcome)}`;
}

/** Where even the shortest lines of calls are too many, the oldest become one that counts them tool by tool. */
function countOldest(
  drafts: readonly Draft[],
  room: number,
  cost: (text: string) => number,
): readonly Draft[] {
  const total = drafts.reduce((sum, draft) => (draft.must ? sum + draft.cost : sum), 0);
  let excess = total - room;
  if (excess <= 0) return drafts;
  const counts = new Map<string, number>();
  let first: number | undefined;
  const rest = drafts.filter((draft) => {
    if (excess <= 0 || (draft.kind !== 'did' && draft.kind !== 'looked')) return true;
    excess -= draft.cost;
    first ??= draft.at;
    for (const [name, count] of countsIn(draft.text)) counts.set(name, (counts.get(name) ?? 0) + count);
    return false;
  });
  const text = [...counts].map(([name, count]) => `${name} ×${count}`).join(', ');
  const counted = {
    kind: 'did',
    at: first ?? 1,
    text,
    worth: 1,
    must: true,
    terms: NO_TERMS,
    cost: cost(text),
  } as const;
  return [counted, ...rest];
}

/** The tools that a line tells of: a line that counts them already, or that of one call. */
function countsIn(text: string): ReadonlyMap<string, number> {
  const counted = [...text.matchAll(/(?:^|, )([^\s,]+) ×(\d+)/g)];
  if (counted.length > 0) return new Map(counted.map(([, name = '', count]) => [name, Number(count)]));
  return new Map([[text.split(' ', 1)[0] ?? '', 1]]);
}

/** Where paths are likely to stand: in what was recorded before and in what calls were given. */
function* pathTexts({ earlier, covered }: RecordInput): Iterable<string> {
  for (const { text } of earlier) yield text;
  for (const { message } of covered) {
    for (const { input } of toolUsesOf(message)) yield jsonText(input).slice(0, 2_000);
  }
}

function tokensPerUnit(messages: readonly Message[], meter: Meter): number {
  let units = 0;
  for (const message of messages) for (const { text } of excerptsOf(message).parts) units += text.length;
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
