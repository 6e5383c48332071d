import type { ToolResultBlock, ToolUseBlock } from '@x/core';
import { isObject, isTimeToRest, type Work } from '@x/core/internal';
import { lineEnd } from '../conversation/lines.js';
import { resultText } from './readable.js';

/** Lines that a tool prints around every result, such as its arguments, a duration, an id or a heading. */
export interface Boilerplate {
  /** Removes boilerplate from the beginning and end of a result's text, or of a part of it. */
  strip(result: ToolResultBlock, text: string): string;
}

/** Maximum number of lines at the beginning and at the end of a result that can be boilerplate. */
const EDGE_LINES = 6;
const LAST_LINES = 2;
/** The minimum number and the minimum share of a tool's results that must have a line for it to count as boilerplate. */
const LEAST_RESULTS = 4;
const LEAST_SHARE = 0.6;

/** The first and last lines of a result as shapes, and the argument values of its call. */
interface Ends {
  readonly values: readonly string[];
  readonly shapes: ReadonlySet<string>;
  /** `true` if the result has lines between its first and last ones. */
  readonly isLong: boolean;
}

const ends = new WeakMap<ToolResultBlock, Ends>();

function endsOf(block: ToolResultBlock, use: ToolUseBlock | undefined): Ends {
  const known = ends.get(block);
  if (known) return known;
  const values = use ? passedIn(use) : [];
  const text = resultText(block);
  const first = text.slice(0, 600).split('\n').slice(0, EDGE_LINES);
  const last = text.slice(-400).split('\n').slice(-LAST_LINES);
  const shapes = new Set([...first, ...last].map((line) => shapeOf(line, values)));
  shapes.delete('');
  const made = { values, shapes, isLong: first.length === EDGE_LINES || text.length > 600 };
  ends.set(block, made);
  return made;
}

/** Finds the lines that most results of a tool have at their ends, ignoring numbers and the call's arguments. */
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
      const isCommon = (line: string) => {
        const shape = shapeOf(line, values);
        return shape === '' || tool.common.has(shape);
      };
      // A line whose number differs may be the answer. It counts as boilerplate only if a fixed line separates it from the rest.
      const isFixed = (line: string) =>
        line !== '' && shapeOf(line, values) === withoutPassed(line, values).trim();
      let start = 0;
      for (let count = 0, at = 0; count < EDGE_LINES && at <= text.length; count++) {
        const next = lineEnd(text, at);
        const line = text.slice(at, next);
        if (!isCommon(line)) break;
        at = next + 1;
        if (isFixed(line)) start = at;
      }
      let end = text.length;
      for (let count = 0, at = end; count < LAST_LINES && start <= at; count++) {
        const last = Math.max(start, text.slice(0, at).lastIndexOf('\n') + 1);
        const line = text.slice(last, at);
        if (!isCommon(line)) break;
        at = last - 1;
        if (isFixed(line)) end = at;
      }
      if (start <= end || tool.isFrame) return text.slice(start, Math.max(start, end));
      // If every result consists only of such lines, the parts that differ are the answer.
      return text
        .split('\n')
        .filter((line) => line !== '' && !isFixed(line))
        .join('\n');
    },
  };
}

/** Returns the string arguments of a call that its result may repeat. */
function passedIn({ input }: ToolUseBlock): readonly string[] {
  const values = isObject(input) ? Object.values(input) : [];
  return values
    .filter((value) => typeof value === 'string')
    .filter(({ length }) => length > 2 && length <= 200);
}

/** Matches a number or a generated id. A name with a digit, such as an order number, is not matched, because it identifies a result. */
const COUNTED = /(?<![\w#/.-])(?:\d[\d.,:]*(?:m?s)?|(?=[a-f]*\d)[\da-f]{4,}|[a-f]{6})(?![\w#/-])/g;

/** Masks the parts of a line that differ from call to call. */
function shapeOf(line: string, passed: readonly string[]): string {
  return withoutPassed(line, passed).replaceAll(COUNTED, '0').trim();
}

function withoutPassed(line: string, passed: readonly string[]): string {
  let rest = line.slice(0, 200);
  for (const value of passed) rest = rest.replaceAll(value, '…');
  return rest;
}
