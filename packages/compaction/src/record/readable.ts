import { isObject, type JsonObject, type JsonValue, jsonText, type ToolResultBlock, textOf } from '@x/core';
import { once } from '../conversation/once.js';

/** UTF-16 units of a nested value that stands on the line of its owner, and of a text that is looked at for data of its own. */
const INLINE = 90;
const LONG_TEXT = 120;
/** UTF-16 units after which a line of facts is broken. */
const LINE = 220;
/** UTF-16 units of a line of rows. */
const TABLE_LINE = 230;
/** Objects inside objects that are followed: results of tools come wrapped several times. */
const DEEPEST = 32;
const LONGEST_OWNER = 40;
/** Owners that a line names, the nearest ones. */
const OWNERS = 2;

/** UTF-16 units of a text that are looked at: of a longer one its ends, since what a tool prints by the megabyte is no record. */
const MOST_UNITS = 200_000;

/** The text, or both ends of one that is too long to be looked at whole. */
export function within(text: string): string {
  if (text.length <= MOST_UNITS) return text;
  return `${text.slice(0, MOST_UNITS / 2)}\n${text.slice(-MOST_UNITS / 2)}`;
}

/** What a tool returned, as {@link readable} text: made once. */
export const resultText = once((block: ToolResultBlock): string => readable(within(textOf([block]))));

/**
 * The text of a tool as a reader wants it. Data becomes lines of facts, `key value, key value`, each behind its owner:
 * `variants 638452: resolution 30MP, available true`. Line breaks that another program escaped become line breaks.
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

/** A path of Windows, or a backslash that escapes nothing: such a text is as it was written. */
const UNESCAPED = /(?<![A-Za-z])[A-Za-z]:\\|\\[^nrtbfuvx0"'/\n]/;

/** Tests if a text has its line breaks escaped: more of them than real ones, and no backslash of another use. */
function escapedLines(text: string): boolean {
  let escaped = 0;
  for (let at = text.indexOf('\\n'); at !== -1 && escaped < 1_000; at = text.indexOf('\\n', at + 2))
    escaped++;
  if (escaped === 0 || UNESCAPED.test(text.replaceAll('\\\\', ''))) return false;
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1 && lines < escaped; at = text.indexOf('\n', at + 1)) lines++;
  return escaped > lines;
}

/** What a tool printed around data, or the data: several objects in a row are a list. */
type Part = string | JsonValue[];

/** The beginning of an object or a list. */
const BEGINNINGS = /\{\s*["}]|\[\s*[\]{["\d-]/g;
/** UTF-16 units beside the data of a text: so many, or this share of it. In a program data is part of the program. */
const AROUND = 400;
const SHARE_AROUND = 0.4;
/** Beginnings that turn out to be none, after which a text is taken as it is. */
const MOST_MISSES = 20;

/** The objects and lists of a text that is mostly data, whole or cut off at either end, with what else it holds. */
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

/** The data that begins at a place, and where it ends. Of data that is cut off, the part that is there. */
function dataAt(
  text: string,
  start: number,
): { readonly value: JsonValue; readonly end: number } | undefined {
  const open: string[] = [];
  let inString = false;
  let members: string | undefined;
  for (let at = start; at < text.length; at++) {
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
      const value = parsed(text.slice(start, at + 1));
      return value === undefined ? undefined : { value, end: at + 1 };
    } else if (unit === ',' && at > text.length - AROUND) {
      members = text.slice(start, at) + open.toReversed().join('');
    }
  }
  const rest = text.slice(start);
  const closers = open.toReversed().join('');
  const cut = inString ? `${rest.replace(/\\(?:u[\da-f]{0,3})?$/i, '')}"` : rest;
  const value = parsed(cut + closers) ?? (members === undefined ? undefined : parsed(members));
  return value === undefined ? undefined : { value, end: text.length };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Items of a list from which on what all of them have is said once, and from which on they are rows of a table. */
const LEAST_ITEMS = 3;
const LEAST_ROWS = 2;
/** Stands between the rows of a table on one line. */
export const NEXT_ROW = ' | ';

function addFacts(value: JsonValue, owners: readonly string[], lines: string[], depth: number): void {
  const label = owners.slice(-OWNERS).join(' ');
  const add = (text: string, owner = label) => text && lines.push(owner ? `${owner}: ${text}` : text);
  const short = inline(value, owners.at(-1));
  if (short !== undefined || depth > DEEPEST) {
    add(short ?? jsonText(value));
  } else if (typeof value === 'string' || isTextBlock(value)) {
    add(readable(typeof value === 'string' ? value : value.text, depth + 1));
  } else if (Array.isArray(value)) {
    const nested = value.every((item) => Array.isArray(item) && item.every(isObject));
    const items = withoutShared(nested ? value.flat() : value, add);
    if (
      addTable(
        items.map((item) => ['', item]),
        label,
        lines,
      )
    )
      return;
    for (const item of items) addFacts(item, [...owners, ...nameOf(item)], lines, depth + 1);
  } else {
    const entries = Object.entries(value as JsonObject) as [string, JsonValue][];
    if (addTable(entries, label, lines)) return;
    let line = '';
    const nested: (readonly [string, JsonValue])[] = [];
    for (const [key, item] of entries) {
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
  }
}

/**
 * Adds objects of the same keys as rows below their keys, `variants (resolution, price): 638452 30MP, 49.1 | …`, as
 * many to a line as it holds, and the keys again on each. Equal rows stand once. Returns `false` for objects that are not alike.
 */
function addTable(rows: readonly (readonly [string, JsonValue])[], label: string, lines: string[]): boolean {
  if (rows.length < LEAST_ROWS) return false;
  const objects = rows.flatMap(([, row]) => (isObject(row) ? [row] : []));
  const [first] = objects;
  if (first === undefined || objects.length < rows.length) return false;
  const keys = Object.keys(first);
  if (keys.length < LEAST_ROWS || objects.some((row) => !sameKeys(row, keys))) return false;
  // Nested objects of the same keys have them in the head too.
  const columns = keys
    .filter((key) => objects.some((row, index) => inline(row[key], rows[index]?.[0]) !== ''))
    .map((key) => {
      const inner = isObject(first[key]) ? Object.keys(first[key]) : [];
      const alike =
        inner.length > 0 && objects.every((row) => isObject(row[key]) && sameKeys(row[key], inner));
      return { key, head: alike ? `${key} (${inner.join(', ')})` : key, alike };
    });
  const texts = new Set<string>();
  for (const [index, row] of objects.entries()) {
    const name = rows[index]?.[0] ?? '';
    const cells: string[] = [];
    for (const { key, alike } of columns) {
      const cell = inline(row[key], name);
      if (cell === undefined) return false;
      cells.push((alike ? inline(Object.values(row[key] as JsonObject) as JsonValue) : cell) || '–');
    }
    const text = withoutNextRow(`${name && `${name} `}${cells.join(', ')}`);
    if (text.length > LINE) return false;
    texts.add(text);
  }
  const names = columns.map((column) => column.head).join(', ');
  const head = withoutNextRow(`${label && `${label} `}(${names}): `);
  let line = '';
  for (const text of texts) {
    if (line && head.length + line.length + text.length > TABLE_LINE) {
      lines.push(head + line);
      line = '';
    }
    line += `${line && NEXT_ROW}${text}`;
  }
  lines.push(head + line);
  return true;
}

/** No value begins a row of its own. */
function withoutNextRow(text: string): string {
  return text.replaceAll(/(?<!\S)\|(?!\S)/g, '¦');
}

/** Tests for a block of text, as MCP and models wrap it: it says no more than its text. */
function isTextBlock(value: JsonValue): value is JsonObject & { readonly text: string } {
  return isObject(value) && value.type === 'text' && typeof value.text === 'string';
}

function sameKeys(row: JsonObject, keys: readonly string[]): boolean {
  const own = Object.keys(row);
  return own.length === keys.length && keys.every((key) => Object.hasOwn(row, key));
}

/** The items of a list without the facts that all of them have, which are added once. */
function withoutShared(items: readonly JsonValue[], add: (text: string) => void): readonly JsonValue[] {
  const objects = items.flatMap((item) => (isObject(item) ? [item] : []));
  if (items.length < LEAST_ITEMS || objects.length < items.length) return items;
  const shared = new Map<string, string>();
  for (const [key, value] of Object.entries(objects[0] ?? {})) {
    const fact = inline(value);
    if (fact && objects.every((item) => Object.hasOwn(item, key) && inline(item[key]) === fact))
      shared.set(key, fact);
  }
  if (shared.size === 0) return items;
  add(`all ${items.length}: ${[...shared].map(([key, fact]) => `${key} ${fact}`).join(', ')}`);
  return objects.map((item) => Object.fromEntries(Object.entries(item).filter(([key]) => !shared.has(key))));
}

/** Keys whose values tell the items of a list apart, in this order; else the first value does. */
const NAMES = /^(?:name|title|id|key)$/i;

/** The name of an item that needs several lines, so that each says whose it is. */
function nameOf(item: JsonValue): readonly string[] {
  if (!isObject(item) || isTextBlock(item)) return [];
  const facts = Object.entries(item).map(([key, value]) => ({ key, value, short: inline(value) }));
  if (
    facts.every(({ short }) => short !== undefined) &&
    facts.reduce((sum, { key, short = '' }) => sum + key.length + short.length + 3, 0) <= LINE
  )
    return [];
  const names = facts.filter(
    ({ value, short }) => short && short.length <= LONGEST_OWNER && typeof value !== 'object',
  );
  const name = names.find(({ key }) => NAMES.test(key)) ?? names[0];
  if (name === undefined) return [];
  return [NAMES.test(name.key) ? String(name.value) : `${name.key} ${name.short}`];
}

/** A value as facts on one line. */
export function factsOf(value: JsonValue): string {
  const lines: string[] = [];
  const short = inline(value);
  if (short === undefined) addFacts(value, [], lines, 0);
  return short ?? lines.join('; ');
}

/**
 * A value in a few words, nothing for one that its owner says already; `undefined` where it needs lines of its own.
 */
function inline(value: JsonValue | undefined, owner?: string): string | undefined {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') {
    const text = String(value).trim();
    return text.length > LONG_TEXT || /^[{[]\s*["{[]|\n/.test(text) ? undefined : text === owner ? '' : text;
  }
  if (isTextBlock(value)) return inline(value.text, owner);
  let text = '';
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'object' && item !== null) return undefined;
    const short = inline(item, owner);
    if (short === undefined) return undefined;
    if (short !== '') text += `${text ? ', ' : ''}${Array.isArray(value) ? '' : `${key} `}${short}`;
    if (text.length > INLINE) return undefined;
  }
  return text && `(${text})`;
}
