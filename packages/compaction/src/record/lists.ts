import { type JsonObject, type JsonValue, type ToolUseBlock, toolResultsOf, toolUsesOf } from '@x/core';
import { isObject } from '@x/core/internal';
import { outcomeOf, pathOf } from '../conversation/tool-calls.js';
import { sharing } from './cut-line.js';
import { type Entry, type List, toolWord } from './entry.js';
import type { Excerpts } from './excerpts.js';
import type { Turn } from './turns.js';

// A list that a call writes, such as a plan or tasks with their states, is written again whenever it changes. So its newest
// version is the state of the work and stands whole; of older ones the line of the call is enough.

/** UTF-16 units of a list, of a value that tells the state of an item, and of a value that names the thing a call is about. */
const LONGEST_LIST = 1_500;
const SHORT_VALUE = 24;
const LONGEST_ID = 40;
/** A value of more is content, and its list none. */
const LONGEST_VALUE = 400;
/** UTF-16 units that an item keeps at least. */
const SHORTEST_ITEM = 32;
/** Lists of one tool that stand: those of different things. */
const MOST_LISTS = 3;

/**
 * The newest lists that calls wrote, as entries, by the call that wrote each, or by their entry in an earlier record. A list counts
 * until a later call of the same tool is about the same thing, whatever that writes, unless it failed. What a staying message
 * writes is newer, and none of the record's.
 *
 * @param room What all lists together may cost; the newest come first.
 * @param cost Of a text.
 */
export function newestLists(
  earlier: readonly Entry[],
  turns: readonly Turn[],
  staying: readonly Excerpts[],
  room: number,
  cost: (text: string) => number,
): ReadonlyMap<Entry | ToolUseBlock, List> {
  const lists = new Map<Entry | ToolUseBlock, List>();
  const seen = new Set<string>();
  const counts = new Map<string, number>();
  let left = room;
  const take = (owner: Entry | ToolUseBlock, at: number, subject: string, items: readonly Item[]) => {
    const tool = subject.split(' ', 1)[0] as string;
    const count = counts.get(tool) ?? 0;
    const texts = count < MOST_LISTS ? fitted(subject, items, left, cost) : undefined;
    if (texts === undefined) return;
    counts.set(tool, count + 1);
    left -= cost([subject, ...texts].join('\n'));
    lists.set(owner, { kind: 'listed', at, subject, items: [...texts] });
  };
  const failed = new Set(
    staying.flatMap(({ message }) =>
      toolResultsOf(message).flatMap((result) => (outcomeOf(result).failed ? result.toolUseId : [])),
    ),
  );
  for (const { message } of staying)
    for (const use of toolUsesOf(message)) if (!failed.has(use.id)) seen.add(subjectOf(use));
  for (const { at, calls } of turns.toReversed()) {
    for (const { use, looks, result } of calls.toReversed()) {
      if (looks || !result || outcomeOf(result.block).failed) continue;
      const subject = subjectOf(use);
      if (seen.has(subject)) continue;
      seen.add(subject);
      const items = itemsIn(use);
      if (items.length > 0) take(use, at, subject, items);
    }
  }
  for (const entry of earlier.toReversed()) {
    if (entry.kind !== 'listed') continue;
    const { at, subject, items } = entry;
    const whole = items.map((text) => ({ text, rest: '' }));
    if (!seen.has(subject)) take(entry, at, subject, whole);
    seen.add(subject);
  }
  return lists;
}

/** An item of a list: what it is about, and its short values behind. */
interface Item {
  readonly text: string;
  readonly rest: string;
}

/** A call that writes a list without the list, which changes from call to call; `undefined` for any other call. */
export function withoutList(use: ToolUseBlock): Pick<ToolUseBlock, 'name' | 'input'> | undefined {
  if (itemsIn(use).length === 0) return undefined;
  const rest = Object.entries(use.input as JsonObject).filter(([, value]) => !Array.isArray(value));
  return { name: use.name, input: Object.fromEntries(rest) };
}

/** The items of the one list that a call writes. None where it writes to a file, or where an item holds content. */
function itemsIn(use: ToolUseBlock): readonly Item[] {
  if (!isObject(use.input) || pathOf(use) !== undefined) return [];
  const lists = Object.values(use.input).filter(
    (value): value is JsonObject[] => Array.isArray(value) && value.length > 0 && value.every(isObject),
  );
  const [list] = lists;
  if (list === undefined || lists.length > 1) return [];
  const items = list.map((item) => Object.entries(item).map(([key, value]) => [key, textOf(value)] as const));
  if (items.some((values) => values.some(([, text]) => text.length > LONGEST_VALUE))) return [];
  return items.map(itemOf).filter(({ text }) => text !== '');
}

function itemOf(values: readonly (readonly [key: string, text: string])[]): Item {
  const isShort = (text: string) => text.length <= SHORT_VALUE;
  const short = values
    .filter(([, text]) => text !== '' && isShort(text))
    .map(([key, text]) => `${onOneLine(key)} ${text}`)
    .join(', ');
  const text = values.find(([, value]) => !isShort(value))?.[1];
  return text === undefined ? { text: short, rest: '' } : { text, rest: short && ` (${short})` };
}

function textOf(value: JsonValue | undefined): string {
  if (value === null || value === undefined || value === false) return '';
  return onOneLine(
    Array.isArray(value) || isObject(value)
      ? JSON.stringify(value).replaceAll(/[[\]{}"]/g, '')
      : String(value),
  );
}

/** The tool of a call, and the names of what it is about: a later call with the same ones writes what this one wrote again. */
function subjectOf({ name, input }: ToolUseBlock): string {
  const ids = Object.values(isObject(input) ? input : {}).filter(
    (value) => typeof value === 'string' && value.length <= LONGEST_ID && /^\S+$/.test(value),
  );
  return [toolWord(name), ...ids].join(' ');
}

const BLANKS = /[\s\u0085]+/g;

function onOneLine(text: string): string {
  return text.replaceAll(BLANKS, ' ').trim();
}

/** A list that costs at most `room`: whole, or with its longest items cut. Nothing where that leaves too little of them. */
function fitted(
  subject: string,
  items: readonly Item[],
  room: number,
  cost: (text: string) => number,
): readonly string[] | undefined {
  const sum = (length: (item: Item) => number) => items.reduce((sum, item) => sum + length(item), 0);
  const all = sum(({ text }) => text.length);
  let length = Math.min(all, LONGEST_LIST - sum(({ rest }) => rest.length));
  // Texts do not all cost the same.
  for (let attempt = 0; attempt < 3; attempt++) {
    if (length < all && length < items.length * SHORTEST_ITEM) return undefined;
    const texts = sharing(
      items.map(({ text }) => text),
      length,
    );
    const whole = items.map(({ rest }, index) => texts[index] + rest);
    const price = cost([subject, ...whole].join('\n'));
    if (price <= room) return whole;
    length = Math.floor(length * Math.min(0.9, room / price));
  }
  return undefined;
}
