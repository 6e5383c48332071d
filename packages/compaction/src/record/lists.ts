import { type JsonObject, type JsonValue, type ToolUseBlock, toolResultsOf, toolUsesOf } from '@x/core';
import { isObject } from '@x/core/internal';
import { outcomeOf, pathOf } from '../conversation/tool-calls.js';
import { sharing } from './cut-line.js';
import { type Entry, type List, toolWord } from './entry.js';
import type { Excerpts } from './excerpts.js';
import type { Turn } from './turns.js';

// A list that a call writes, such as a plan or a todo list, is rewritten whenever it changes. The newest version is the
// state of the work and is kept in full. For older versions the line of the call is enough.

/** Maximum UTF-16 units of a list, of a state value of an item, and of an id. */
const LONGEST_LIST = 1_500;
const SHORT_VALUE = 24;
const LONGEST_ID = 40;
/** Maximum UTF-16 units of a value in a list. An array with a longer value counts as content, not as a list. */
const LONGEST_VALUE = 400;
/** Minimum average UTF-16 units of an item after cutting. */
const SHORTEST_ITEM = 32;
/** Maximum number of lists per tool, each with a different subject. */
const MOST_LISTS = 3;

/**
 * Returns the newest lists as entries. The key of each is the call or the earlier entry that it comes from. A later successful call with
 * the same subject supersedes a list, even if it writes no list. Skips lists that staying messages supersede, and the agent's own notes,
 * which its session keeps.
 *
 * @param room The maximum cost of all lists together. The newest come first.
 * @param cost Returns the cost of a text.
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
      toolResultsOf(message).flatMap((result) => (result.isError ? result.toolUseId : [])),
    ),
  );
  for (const { message } of staying)
    for (const use of toolUsesOf(message)) if (!failed.has(use.id)) seen.add(subjectOf(use));
  for (const { at, calls } of turns.toReversed()) {
    for (const { use, looks, result } of calls.toReversed()) {
      if (looks || !result || result.block.origin === 'agent' || outcomeOf(result.block, use).failed)
        continue;
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

/** An item of a list: its main text, and its short values. */
interface Item {
  readonly text: string;
  readonly rest: string;
}

/** Returns a call without the list that it writes, or `undefined` if it writes none. */
export function withoutList(use: ToolUseBlock): Pick<ToolUseBlock, 'name' | 'input'> | undefined {
  if (itemsIn(use).length === 0) return undefined;
  const rest = Object.entries(use.input as JsonObject).filter(([, value]) => !Array.isArray(value));
  return { name: use.name, input: Object.fromEntries(rest) };
}

/** Returns the items of a call's only list, or none if the call has a file path or an item holds content. */
function itemsIn(use: ToolUseBlock): readonly Item[] {
  if (!isObject(use.input) || pathOf(use) !== undefined) return [];
  const lists = Object.values(use.input).filter(
    (value): value is JsonObject[] => Array.isArray(value) && value.length > 0 && value.every(isObject),
  );
  const [list] = lists;
  if (list === undefined || lists.length > 1) return [];
  const items = list.map((item) => Object.entries(item).map(([key, value]) => [key, textOf(value)] as const));
  if (items.some((values) => values.some(([, text]) => text.length > LONGEST_VALUE))) return [];
  // The same key for all items, because another text of an item often says the same in other words.
  const [main] = items.flat().find(([, text]) => text.length > SHORT_VALUE) ?? [];
  return items.map((values) => itemOf(values, main)).filter(({ text }) => text !== '');
}

function itemOf(values: readonly (readonly [key: string, text: string])[], main: string | undefined): Item {
  const short = values
    .filter(([key, text]) => text !== '' && key !== main && text.length <= SHORT_VALUE)
    .map(([key, text]) => `${onOneLine(key)} ${text}`)
    .join(', ');
  const isLong = ([, text]: readonly [string, string]) => text.length > SHORT_VALUE;
  const [, text = ''] =
    values.find(([key, text]) => key === main && text !== '') ?? values.find(isLong) ?? [];
  return text === '' ? { text: short, rest: '' } : { text, rest: short && ` (${short})` };
}

function textOf(value: JsonValue | undefined): string {
  if (value === null || value === undefined || value === false) return '';
  return onOneLine(
    Array.isArray(value) || isObject(value)
      ? JSON.stringify(value).replaceAll(/[[\]{}"]/g, '')
      : String(value),
  );
}

/** Returns the tool and ids of a call. A later call with the same subject rewrites the same list. */
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

/** Fits a list into `room` by cutting its longest items. Returns `undefined` if too little of them would be left. */
function fitted(
  subject: string,
  items: readonly Item[],
  room: number,
  cost: (text: string) => number,
): readonly string[] | undefined {
  const sum = (length: (item: Item) => number) => items.reduce((sum, item) => sum + length(item), 0);
  const all = sum(({ text }) => text.length);
  let length = Math.min(all, LONGEST_LIST - sum(({ rest }) => rest.length));
  // Cost is not proportional to length, so this takes several attempts.
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
