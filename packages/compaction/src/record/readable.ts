import { type JsonObject, type JsonValue, type ToolResultBlock, textOf } from '@x/core';
import { headOf, isObject, jsonText, memoize, parsedJson, tailOf } from '@x/core/internal';
import { oddLines } from '../conversation/lines.js';

/** Maximum UTF-16 units of a nested value on its owner's line. Texts up to this length are not parsed as nested data. */
const INLINE = 90;
const LONG_TEXT = 120;
/** UTF-16 units after which a line of facts wraps. */
const LINE = 220;
/** Maximum nesting depth. Results of tools are often wrapped several times. */
const DEEPEST = 32;
/** Maximum number of open brackets in data. A text with more only repeats a bracket. */
const MOST_OPEN = 1_000;
const LONGEST_OWNER = 40;
/** Maximum number of owners in a line's label, counted from the innermost. */
const OWNERS = 2;

/** Maximum UTF-16 units of a text to process. */
const MOST_UNITS = 200_000;
/** Maximum UTF-16 units of a result that is parsed as data. It is higher than `MOST_UNITS`, because truncated data cannot be parsed. */
const MOST_DATA = 2_000_000;

/** The line that replaces omitted lines. */
export const GAP = '…';

/** Returns the text, or its two ends with the odd lines between them if it is longer than `most`. */
export function within(text: string, most = MOST_UNITS): string {
  if (text.length <= most) return text;
  const start = most / 2;
  const end = text.length - most / 2;
  const odd = oddLines(text).filter(({ at }) => at >= start && at < end);
  return [headOf(text, start), ...odd.map((line) => line.text), tailOf(text, start)].join(`\n${GAP}\n`);
}

/** Replaces the lines that are in `others` with gaps. */
export function withoutLines(text: string, others: ReadonlySet<string>): string {
  if (others.size === 0) return text;
  const lines = text.split('\n').map((line) => (others.has(line) ? GAP : line));
  return lines.filter((line, index) => line !== GAP || lines[index - 1] !== GAP).join('\n');
}

/** Returns a tool result as {@link readable} text. Cached per result. */
export const resultText = memoize((block: ToolResultBlock): string =>
  within(readable(within(textOf([block]), MOST_DATA))),
);

/**
 * Converts a tool's text to a readable form. Data becomes lines of facts, each labeled with its owner (the object that contains it):
 * `variants 638452: resolution 30MP, available true`. Escaped line breaks become real line breaks.
 */
export function readable(text: string, depth = 0): string {
  const parts = dataIn(text);
  if (parts) {
    const lines: string[] = [];
    for (const part of parts) {
      if (typeof part === 'string') lines.push(part.trim());
      else addFacts(part.length === 1 ? (part[0] as JsonValue) : part, [], lines, depth);
    }
    return lines.filter(Boolean).join('\n');
  }
  if (!escapedLines(text)) return text;
  const written = text.replaceAll(ESCAPED, (_, mark: string) => WRITTEN[mark] ?? mark);
  return depth < DEEPEST ? readable(written, depth + 1) : written;
}

const ESCAPED = /\\([ntr"'\\])/g;
const WRITTEN: Readonly<Record<string, string>> = { n: '\n', r: '\n', t: ' ' };

/** Matches a Windows path, or a backslash that is not an escape. Such a text is not unescaped. */
const UNESCAPED = /(?<![A-Za-z])[A-Za-z]:\\|\\[^nrtbfuvx0"'/\n]/;

/** Tests if a text has escaped line breaks: more of them than real ones, and no other use of a backslash. */
function escapedLines(text: string): boolean {
  let escaped = 0;
  for (let at = text.indexOf('\\n'); at !== -1 && escaped < 1_000; at = text.indexOf('\\n', at + 2))
    escaped++;
  if (escaped === 0 || UNESCAPED.test(text.replaceAll('\\\\', ''))) return false;
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1 && lines < escaped; at = text.indexOf('\n', at + 1)) lines++;
  return escaped > lines;
}

/** The text around data, or a list of consecutive data values. */
type Part = string | JsonValue[];

/** Matches the beginning of an object or a list. */
const BEGINNINGS = /\{\s*["}]|\[\s*[\]{["\d-]/g;
/** The maximum text around data, in UTF-16 units or as a share of the text. With more, the text may be a program. */
const AROUND = 400;
const SHARE_AROUND = 0.4;
/** Maximum number of failed parses before a text counts as plain text. */
const MOST_MISSES = 20;

/** Splits a text that is mostly data into its data and the text around them. Returns `undefined` for other texts. */
function dataIn(text: string): readonly Part[] | undefined {
  const parts: Part[] = [];
  const mostAround = Math.max(AROUND, text.length * SHARE_AROUND);
  BEGINNINGS.lastIndex = 0;
  let around = 0;
  let end = 0;
  let misses = 0;
  for (let match = BEGINNINGS.exec(text); match; match = BEGINNINGS.exec(text)) {
    const { index } = match;
    if (around + index - end > mostAround) return undefined;
    const data = dataAt(text, index);
    if (!data) {
      if (++misses === MOST_MISSES) return undefined;
      BEGINNINGS.lastIndex = index + 1;
      continue;
    }
    const between = text.slice(end, index);
    const last = parts.at(-1);
    if (typeof last === 'object' && /^[\s,[\]]*$/.test(between)) last.push(data.value);
    else {
      around += between.length;
      parts.push(between, [data.value]);
    }
    end = data.end;
    BEGINNINGS.lastIndex = end;
  }
  if (parts.length === 0 || around + text.length - end > mostAround) return undefined;
  return [...parts, text.slice(end)];
}

/** Parses the data that begins at `start`, and returns its end. */
function dataAt(
  text: string,
  start: number,
): { readonly value: JsonValue; readonly end: number } | undefined {
  const open: string[] = [];
  let inString = false;
  for (let at = start; at < text.length && open.length <= MOST_OPEN; at++) {
    const unit = text[at];
    if (inString) {
      if (unit === '\\') at++;
      else if (unit === '"') inString = false;
    } else if (unit === '"') inString = true;
    else if (unit === '{') open.push('}');
    else if (unit === '[') open.push(']');
    else if (unit === '}' || unit === ']') {
      if (open.pop() !== unit) return undefined;
      if (open.length > 0) continue;
      const value = parsedJson(text.slice(start, at + 1)) as JsonValue | undefined;
      return value === undefined ? undefined : { value, end: at + 1 };
    }
  }
  return undefined;
}

function addFacts(value: JsonValue, owners: readonly string[], lines: string[], depth: number): void {
  const label = owners.slice(-OWNERS).join(' ');
  const add = (text: string) => text && lines.push(label ? `${label}: ${text}` : text);
  const short = inline(value);
  if (short !== undefined || depth > DEEPEST) add(short ?? jsonText(value));
  else if (typeof value === 'string' || isTextBlock(value)) {
    add(readable(typeof value === 'string' ? value : value.text, depth + 1));
  } else if (Array.isArray(value)) {
    const names = value.flatMap(nameOf);
    if (names.length >= 3 && names.length === value.length) add(names.join(', '));
    for (const item of value) addFacts(item, [...owners, ...nameOf(item)], lines, depth + 1);
  } else {
    const { length } = lines;
    let line = '';
    const nested: (readonly [string, JsonValue])[] = [];
    for (const [key, item] of Object.entries(value as JsonObject) as [string, JsonValue][]) {
      const fact = inline(item, key);
      if (fact === undefined) nested.push([key, item]);
      else if (fact !== '' && fact !== owners.at(-1) && `${key} ${fact}` !== owners.at(-1)) {
        if (line && label.length + line.length + fact.length > LINE) {
          add(line);
          line = '';
        }
        line += `${line ? ', ' : ''}${key} ${fact}`;
      }
    }
    add(line);
    for (const [key, item] of nested) addFacts(item, [...owners, key], lines, depth + 1);
    if (lines.length === length) lines.push(label);
  }
}

/** Tests if a value is a text block as in MCP results. Only its text matters. */
function isTextBlock(value: JsonValue): value is JsonObject & { readonly text: string } {
  return isObject(value) && value.type === 'text' && typeof value.text === 'string';
}

/** Matches keys whose values identify an item. Without such a key, the first value identifies it. */
const NAMES = /^(?:name|title|id|key)$/i;

/** Returns the name of an item, which labels each of its lines. */
function nameOf(item: JsonValue): readonly string[] {
  if (!isObject(item) || isTextBlock(item) || inline(item) !== undefined) return [];
  const facts = Object.entries(item).filter(([, value]) => typeof value !== 'object');
  const [key, value] = facts.find(([name]) => NAMES.test(name)) ?? facts[0] ?? [];
  const name = key === undefined || NAMES.test(key) ? `${value ?? ''}` : `${key} ${value}`;
  return name !== '' && name.length <= LONGEST_OWNER ? [name] : [];
}

/** Renders a value on one line, without repeating its key. Returns `undefined` if the value needs separate lines. */
function inline(value: JsonValue | undefined, owner = ''): string | undefined {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') {
    const text = String(value).trim();
    return text.length > LONG_TEXT || /^[{[]\s*["{[]|\n/.test(text) ? undefined : text;
  }
  if (isTextBlock(value)) return inline(value.text);
  let text = '';
  let same = '';
  for (const [key, item] of Object.entries(value)) {
    const short = typeof item === 'object' && item !== null ? undefined : inline(item);
    if (short === undefined) return undefined;
    if (short === owner && !Array.isArray(value)) same = short;
    else if (short !== '') text += `${text ? ', ' : ''}${Array.isArray(value) ? '' : `${key} `}${short}`;
    if (text.length > INLINE) return undefined;
  }
  return text ? `(${text})` : same;
}
