import { headOf, isObject, type JsonObject, type JsonValue, type ToolUseBlock, toolUsesOf } from '@x/core';
import { outcomeOf, pathOf } from '../conversation/tool-calls.js';
import { cutLine, sharing } from './calls.js';
import type { Entry } from './entry.js';
import type { Excerpts } from './excerpts.js';
import type { Turn } from './turns.js';

// A list that a call writes, such as a plan or tasks with their states, is written anew whenever it changes. So its newest
// version is the state of the work and stands whole, below the line of its call; of older versions the line is enough.

/** UTF-16 units of a list that stands whole, of a value in one of its items, and of a value that tells the item's state. */
const LONGEST_LIST = 1_500;
const LONGEST_VALUE = 200;
const SHORT_VALUE = 24;
/** UTF-16 units that an item keeps at least, and those by which it is known again. */
const SHORTEST_ITEM = 20;
const ITEM_KEY = 24;
/** Lists of one tool that stand whole: those of different things, none a later version of another. */
const MOST_LISTS = 3;
/** Stands behind the name of a tool whose list stands below. */
const MARK = ' (last written)';
const MARKED = /^(\S+) \(last written\)/;

/** The list that a call writes. Nothing for a call that writes to a file, or whose items are no short objects. */
export function listIn(use: ToolUseBlock): readonly JsonObject[] | undefined {
  if (!isObject(use.input) || pathOf(use) !== undefined) return undefined;
  const [list, ...others] = Object.values(use.input).filter(Array.isArray);
  return list?.every(isItem) && others.length === 0 ? list : undefined;
}

function isItem(item: JsonValue): item is JsonObject {
  if (!isObject(item) || Object.keys(item).length < 2) return false;
  return Object.values(item).every(
    (value) => (typeof value !== 'object' || value === null) && String(value).length <= LONGEST_VALUE,
  );
}

/** A call without the list that it writes. */
export function withoutList({ name, input }: ToolUseBlock): Pick<ToolUseBlock, 'name' | 'input'> {
  const entries = isObject(input) ? Object.entries(input) : [];
  return { name, input: Object.fromEntries(entries.filter(([, value]) => !Array.isArray(value))) };
}

/**
 * The newest versions of lists as lines, by the call that wrote each, or by its line in an earlier record. A list takes
 * the place of those of the same tool that share half of their items, an empty one of all.
 *
 * @param staying Messages that stay in view: what they write is newer, and none of the record's.
 * @param room UTF-16 units that a list may have. One that is longer is none.
 */
export function newestLists(
  earlier: readonly Entry[],
  turns: readonly Turn[],
  staying: readonly Excerpts[],
  room: number,
): ReadonlyMap<Entry | ToolUseBlock, string> {
  const newest = new Map<
    string,
    readonly { readonly owner: Entry | ToolUseBlock; readonly lines: string }[]
  >();
  const add = (tool: string, owner: Entry | ToolUseBlock, lines: string | undefined) => {
    if (lines === undefined) return;
    const others = (newest.get(tool) ?? []).filter((other) => !isVersion(lines, other.lines));
    newest.set(tool, lines === '' ? [] : [...others, { owner, lines }].slice(-MOST_LISTS));
  };
  for (const [index, entry] of earlier.entries()) {
    const tool = markedTool(entry.text);
    if (tool !== undefined) add(tool, entry, listBelow(earlier, index)?.text);
  }
  for (const { calls } of turns) {
    for (const { use, looks, result } of calls)
      if (!looks && result && !outcomeOf(result.block).failed) add(use.name, use, linesOf(use, room));
  }
  for (const { message } of staying)
    for (const use of toolUsesOf(message)) add(use.name, use, linesOf(use, LONGEST_LIST));
  return new Map([...newest.values()].flat().map(({ owner, lines }) => [owner, lines]));
}

/** The list of a call as lines in `room` UTF-16 units: for each item its text, and its short values behind. */
function linesOf(use: ToolUseBlock, room: number): string | undefined {
  const items = listIn(use)?.map(partsOf);
  if (items === undefined) return undefined;
  const values = items.reduce((sum, { rest }) => sum + rest.length, 0);
  const left = Math.min(room, LONGEST_LIST) - values;
  if (left < items.length * SHORTEST_ITEM) return undefined;
  const texts = sharing(items, left);
  return items.map(({ rest }, index) => texts[index] + rest).join('\n');
}

function partsOf(item: JsonObject): { readonly text: string; readonly rest: string } {
  const values = Object.entries(item)
    .map(([key, value]) => [key, value === null || value === false ? '' : String(value)] as const)
    .filter(([, text]) => text !== '');
  const isShort = ([, text]: readonly [string, string]) => text.length <= SHORT_VALUE;
  const short = values
    .filter(isShort)
    .map(([key, text]) => `${key} ${text}`)
    .join(', ');
  const text = values.find((value) => !isShort(value))?.[1];
  return text === undefined ? { text: short, rest: '' } : { text, rest: short && ` (${short})` };
}

/** Tests if two lists share half of the items of the shorter one, whatever their states are. */
function isVersion(lines: string, other: string): boolean {
  const [keys, others] = [lines, other].map((text) => text.split('\n').map(keyOf)) as [string[], string[]];
  const shared = others.filter((one) => keys.some((key) => key.startsWith(one) || one.startsWith(key)));
  return shared.length * 2 >= Math.min(keys.length, others.length);
}

/** How an item begins, as far as every version of it has that. */
function keyOf(line: string): string {
  return headOf(line.replace(/ \([^()]*\)$/, ''), ITEM_KEY).replace(/…[\s\S]*/, '');
}

/** The list below a line of an earlier record that has one. */
export function listBelow(entries: readonly Entry[], index: number): Entry | undefined {
  const [line, list] = [entries[index], entries[index + 1]];
  const isList =
    line?.kind === 'did' && list?.kind === 'wrote' && list.at === line.at && markedTool(line.text);
  return isList ? list : undefined;
}

/** The line of a call whose list stands below it. */
export function withMark(line: string): string {
  return line.replace(/^\S+/, (name) => name + MARK);
}

/** The tool of a line whose list stands below it. */
export function markedTool(line: string): string | undefined {
  return MARKED.exec(line)?.[1];
}

/** The line of a call whose list is no longer the newest, with what the list held where the mark was. */
export function withoutMark(line: string, list: string, length: number): string {
  return line.replace(MARKED, (_, name: string) => `${name} ${cutLine(list.replaceAll('\n', '; '), length)}`);
}
