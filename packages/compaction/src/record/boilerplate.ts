import type { ToolResultBlock, ToolUseBlock } from '@x/core';
import { isObject, isTimeToRest, type Work } from '@x/core/internal';
import { resultText } from './readable.js';

/** Lines that a tool prints around every result: what it was asked, how long it took, an id, a heading. They tell nothing of one call. */
export interface Boilerplate {
  /** The text of a result, or a part of it, without such lines at its beginning and end. */
  strip(result: ToolResultBlock, text: string): string;
}

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
    if (isTimeToRest()) yield;
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
const COUNTED = /(?<![\w#/.-])(?:\d[\d.,:]*(?:m?s)?|(?=[a-f]*\d)[\da-f]{4,}|[a-f]{6})(?![\w#/-])/g;

/** A line without what differs from call to call. */
function shapeOf(line: string, passed: readonly string[]): string {
  return withoutPassed(line, passed).replaceAll(COUNTED, '0').trim();
}

function withoutPassed(line: string, passed: readonly string[]): string {
  let rest = line.slice(0, 200);
  for (const value of passed) rest = rest.replaceAll(value, '…');
  return rest;
}
