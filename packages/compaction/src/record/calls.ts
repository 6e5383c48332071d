import type { JsonValue, ToolResultBlock, ToolUseBlock } from '@x/core';
import { headOf, isObject, jsonText, tailOf, type Work } from '@x/core/internal';
import { commandOf, failureLine, outcomeOf, pathOf } from '../conversation/tool-calls.js';
import { readable, resultText, within } from './readable.js';

/** UTF-16 units that one argument keeps at least, however many there are. */
const SHORTEST_ARGUMENT = 12;
/** Equal units at both ends from which on two arguments count as a text before and after a change. */
const SAME_ENDS = 8;
const LONG_ARGUMENT = 40;
/** UTF-16 units of the line in which a change begins that stand in front of it. */
const ANCHOR = 40;
/** UTF-16 units of a word that is left out whole where a cut goes through it. */
const SHORT_WORD = 10;

/** UTF-16 units of a path that stands whole. */
const LONGEST_PATH = 160;
/** The folder that most command lines begin with. */
const FOLDER_FIRST = /^\s*cd \S+ &&\s*/;

/**
 * A call in one line: the tool and its arguments, short ones and the path of a file whole, the others cut to share `length`
 * UTF-16 units.
 */
export function callLine(call: Pick<ToolUseBlock, 'name' | 'input'>, length: number): string {
  const { name, input } = call;
  const path = pathOf(call);
  // Beside a command line, the folder and the time limit tell nothing.
  const command = path === undefined ? commandOf(call) : undefined;
  if (command !== undefined) return `${name} ${cutLine(command.replace(FOLDER_FIRST, ''), length)}`;
  const entries = isObject(input) ? Object.entries(input) : [];
  const values = entries
    .map(([key, value]) => ({ key, text: valueText(value) }))
    .filter(({ text }) => text !== '');
  if (values.length === 0) return name;
  const file = path !== undefined && path.length <= LONGEST_PATH ? path : undefined;
  if (values.length === 1) return `${name} ${file ?? cutLine(values[0]?.text ?? '', length)}`;
  const change = changeIn(entries, length);
  const shown = values.filter(({ key, text }) => text !== file && !change?.keys.includes(key));
  const rest = change ? Math.floor(length / 2) : Math.max(length / 2, length - (file?.length ?? 0));
  const parts = sharing(
    shown.map(({ key, text }) => ({ before: `${key}: `, text })),
    rest,
  );
  return `${name} ${[...(file === undefined ? [] : [file]), ...parts, ...(change ? [change.text] : [])].join(', ')}`;
}

/** Says how a call ended in at most `length` UTF-16 units: its error, a short answer whole, else `ok`. */
export function outcomeText(
  result: ToolResultBlock | undefined,
  length: number,
  boilerplate: Boilerplate = noBoilerplate,
): string {
  if (!result) return 'no result';
  const text = boilerplate.strip(result, resultText(result)).trim();
  const { failed, exitCode } = outcomeOf(result);
  if (failed) {
    const code = exitCode === undefined ? '' : ` with exit ${exitCode}`;
    return `failed${code}: ${cutEnd(failureLine(text), length)}`;
  }
  if (text === '') return result.output.some(({ type }) => type === 'file') ? 'ok, with a file' : 'ok';
  if (text.length <= length) return cutEnd(text, length);
  return 'ok';
}

/** A path: of a longer one the last folders and the name of the file stay. */
const PATH = /^[^\s:/]*\/[^\s:]+$/;

/** The last folder's slash and the name of a file, where a text is nothing but its path. Bounded because the line of a call is short. */
const FILE = /(?<=^[^\s:]*)(?:\/|^)[^\s:/]+\.[A-Za-z]\w*$/;
const LONGEST_FILE = 64;

/** A cut that saves fewer UTF-16 units takes more than it gives. */
const LEAST_CUT = 8;

/**
 * A text on one line, its middle cut out where it is longer than `length` UTF-16 units by more than a few: between words where
 * that is near.
 */
export function cutLine(text: string, length: number): string {
  // A text of megabytes is not copied to be cut.
  const near = text.length > length * 8 ? `${headOf(text, length * 2)} ${tailOf(text, length * 2)}` : text;
  const line = near.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= length || line.length < Math.min(length + LEAST_CUT, length * 1.25)) return line;
  if (PATH.test(line)) {
    const start = line.indexOf('/', line.length - length + 1);
    return `…${start === -1 ? tailOf(line, length - 1) : line.slice(start)}`;
  }
  // The end of an address tells more than its beginning.
  const most = Math.floor(/^[^\s/]*\/\S*$/.test(line) ? length * 0.8 : length / 4);
  const head = headOf(line, length - most - 1);
  const tail = tailOf(line, most);
  const space = head.lastIndexOf(' ');
  const next = tail.indexOf(' ');
  const words = space > 0 && space >= head.length - SHORT_WORD ? head.slice(0, space) : head;
  return `${words.trimEnd()}…${(next < SHORT_WORD ? tail.slice(next + 1) : tail).trimStart()}`;
}

/** A text on one line, its end cut off where it is longer than `length` UTF-16 units. */
export function cutEnd(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${headOf(line, length - 1).trimEnd()}…`;
}

function valueText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null || value === false) return '';
  return typeof value === 'object' ? readable(within(jsonText(value))) : jsonText(value);
}

/** Texts in so many UTF-16 units together: short ones whole, the others cut to what is left for each. */
export function sharing(
  values: readonly { readonly before?: string; readonly text: string }[],
  length: number,
): readonly string[] {
  let room = length;
  let left = values.length;
  const parts: string[] = [];
  const shortestFirst = [...values.entries()].sort(
    ([, one], [, other]) => one.text.length - other.text.length,
  );
  for (const [index, { before = '', text }] of shortestFirst) {
    // The name of a file stays whole.
    const [file = ''] = FILE.exec(text) ?? [];
    const least = Math.max(SHORTEST_ARGUMENT, Math.min(file.length + 1, LONGEST_FILE));
    const limit = Math.max(least, Math.floor(room / left));
    parts[index] = before + cutLine(text, limit);
    room -= Math.min(limit, text.length);
    left--;
  }
  return parts;
}

/**
 * Between the tool's name, the path of a file, the other arguments, and the texts before and after a change. Bounded because the
 * line of a call is short.
 */
const BETWEEN = /((?<=^\S+) |(?<=^\S+ [^\s,]+), |, (?=[\w-]+: )| (?=[−+]“))/;
/** In front of an argument that tells by itself what it is: no number, and neither true nor false. */
const KEY = /^[\w-]+: (?!-?\d|true$|false$)/;

/** The line of a call in fewer UTF-16 units: without keys, and with its short arguments whole. */
export function shortenedCall(line: string, length: number): string {
  const parts = line.split(BETWEEN);
  const between = parts.filter((_, index) => index % 2 === 1);
  const values = parts.flatMap((text, index) => (index % 2 === 0 ? { text: text.replace(KEY, '') } : []));
  const room = length - between.reduce((sum, text) => sum + text.length, 0);
  return sharing(values, room).reduce((text, value, index) => text + between[index - 1] + value);
}

/** Two arguments that begin and end alike are a text before and after a change: only the change is shown. */
export function changeIn(
  entries: readonly (readonly [string, JsonValue | undefined])[],
  length: number,
): { readonly keys: readonly string[]; readonly text: string } | undefined {
  const long = entries.filter(
    (entry): entry is readonly [string, string] =>
      typeof entry[1] === 'string' && entry[1].length > LONG_ARGUMENT,
  );
  for (const [index, one] of long.entries()) {
    const other = long[index + 1];
    if (!other) break;
    const [before, after] = /new|after|replace/i.test(one[0]) ? [other, one] : [one, other];
    const { start, end } = sameEnds(before[1], after[1]);
    if (start + end < SAME_ENDS) continue;
    const removed = before[1].slice(start, before[1].length - end);
    const added = after[1].slice(start, after[1].length - end);
    // Where there is room, and something is only added, or a word changed: the line in front of it tells where.
    const line = before[1].slice(before[1].lastIndexOf('\n', start - 1) + 1, start).trim();
    const told = length > 10 * ANCHOR && removed.length < LONG_ARGUMENT && line !== '';
    const anchor = told ? `${tailOf(line, ANCHOR)} ` : '';
    const text = `${anchor}−“${cutLine(removed, Math.floor(length / 3))}” +“${cutLine(added, Math.floor(length / 2))}”`;
    return { keys: [before[0], after[0]], text };
  }
  return undefined;
}

/** Equal UTF-16 units at the start, back to the beginning of a word, and at the end. */
function sameEnds(before: string, after: string): { readonly start: number; readonly end: number } {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  let end = 0;
  while (
    end < most - start &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  ) {
    end++;
  }
  while (start > 0 && /[\w\p{L}]/u.test(before.charAt(start - 1))) start--;
  return { start, end };
}

/** Lines that a tool prints around every result: what it was asked, how long it took, an id, a heading. They tell nothing of one call. */
export interface Boilerplate {
  /** The text of a result, or a part of it, without such lines at its beginning and end. */
  strip(result: ToolResultBlock, text: string): string;
}

const noBoilerplate: Boilerplate = { strip: (_, text) => text };

/** Lines at either end of a result that are looked at. */
const EDGE_LINES = 6;
/** So many results of a tool must have a line, and this share of all, before it is taken for boilerplate. */
const LEAST_RESULTS = 4;
const LEAST_SHARE = 0.6;

/** The ends of a result: the values of its call, and the shapes of its first and last lines. */
interface Ends {
  readonly values: readonly string[];
  readonly shapes: ReadonlySet<string>;
  /** It has lines between its ends. */
  readonly isLong: boolean;
}

const ends = new WeakMap<ToolResultBlock, Ends>();

function endsOf(block: ToolResultBlock, use: ToolUseBlock | undefined): Ends {
  const known = ends.get(block);
  if (known) return known;
  const values = use ? passedIn(use) : [];
  const text = resultText(block);
  const first = text.slice(0, 600).split('\n').slice(0, EDGE_LINES);
  const last = text.slice(-400).split('\n').slice(-2);
  const shapes = new Set([...first, ...last].map((line) => shapeOf(line, values)));
  shapes.delete('');
  const made = { values, shapes, isLong: first.length === EDGE_LINES || text.length > 600 };
  ends.set(block, made);
  return made;
}

/** Finds the lines that most results of a tool have at their ends, whatever numbers and arguments of the call stand in them. */
export function* boilerplateOf(
  calls: readonly { readonly use?: ToolUseBlock; readonly block: ToolResultBlock }[],
): Work<Boilerplate> {
  const tools = new Map<string, { readonly results: Ends[]; readonly lines: Map<string, number> }>();
  for (const { use, block } of calls) {
    yield;
    const tool = tools.get(block.toolName) ?? { results: [], lines: new Map<string, number>() };
    tools.set(block.toolName, tool);
    const result = endsOf(block, use);
    tool.results.push(result);
    for (const line of result.shapes) tool.lines.set(line, (tool.lines.get(line) ?? 0) + 1);
  }
  const known = new Map<string, { readonly common: ReadonlySet<string>; readonly isFrame: boolean }>();
  for (const [name, { results, lines }] of tools) {
    const least = Math.max(LEAST_RESULTS, results.length * LEAST_SHARE);
    const common = new Set([...lines].flatMap(([line, times]) => (times >= least ? line : [])));
    const holdsMore = ({ shapes, isLong }: Ends) => {
      const own = [...shapes].filter((line) => common.has(line)).length;
      return own > 0 && (isLong || own < shapes.size);
    };
    if (common.size > 0) known.set(name, { common, isFrame: results.some(holdsMore) });
  }
  return {
    strip(result, text) {
      const tool = known.get(result.toolName);
      if (!tool) return text;
      const values = ends.get(result)?.values ?? [];
      const isCommon = (line = '') => {
        const shape = shapeOf(line, values);
        return shape === '' || tool.common.has(shape);
      };
      const lines = text.split('\n');
      let start = 0;
      let end = lines.length;
      while (start < end && start < EDGE_LINES && isCommon(lines[start])) start++;
      while (end > start && lines.length - end < 2 && isCommon(lines[end - 1])) end--;
      if (start < end || tool.isFrame) return lines.slice(start, end).join('\n');
      // Where every result is of such lines alone, what differs in them is the answer.
      return lines.filter((line) => shapeOf(line, values) !== withoutPassed(line, values).trim()).join('\n');
    },
  };
}

/** Texts of a call's arguments that its result may repeat. */
function passedIn({ input }: ToolUseBlock): readonly string[] {
  const values = isObject(input) ? Object.values(input) : [];
  return values
    .filter((value) => typeof value === 'string')
    .filter(({ length }) => length > 2 && length <= 200);
}

/** A number, or an id that a machine made. A name with a digit in it, such as that of an order, tells results apart. */
const COUNTED = /(?<![\w#/.-])(?:\d[\d.,:]*(?:m?s)?|(?=[a-f]*\d)[\da-f]{4,})(?![\w#/-])/g;

/** A line without what differs from call to call. */
function shapeOf(line: string, passed: readonly string[]): string {
  return withoutPassed(line, passed).replaceAll(COUNTED, '0').trim();
}

function withoutPassed(line: string, passed: readonly string[]): string {
  let rest = line.slice(0, 200);
  for (const value of passed) rest = rest.replaceAll(value, '…');
  return rest;
}
