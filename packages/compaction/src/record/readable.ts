import { isObject, type JsonObject, type JsonValue, type ToolResultBlock, textOf } from '@x/core';

/** UTF-16 units of a nested value that stands on the line of its owner, and of a text that is looked at for data of its own. */
const INLINE = 90;
const LONG_TEXT = 120;
/** UTF-16 units after which a line of facts is broken. */
const LINE = 220;
/** Objects inside objects that are followed. */
const DEEPEST = 8;
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

const known = new WeakMap<ToolResultBlock, string>();

/** What a tool returned, as {@link readable} text: made once. */
export function resultText(block: ToolResultBlock): string {
  let text = known.get(block);
  if (text === undefined) {
    text = readable(within(textOf([block])));
    known.set(block, text);
  }
  return text;
}

/**
 * The text of a tool as a reader wants it. Data becomes lines of facts, `key value, key value`, each behind its owner:
 * `variants 638452: resolution 30MP, available true`. Line breaks that another program escaped become line breaks.
 */
export function readable(text: string, depth = 0): string {
  const data = dataIn(text);
  if (data) {
    const lines: string[] = [];
    addFacts(data.value, [], lines, depth);
    return [data.before.trimEnd(), ...lines, data.after.trimStart()].filter(Boolean).join('\n');
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

interface Data {
  readonly value: JsonValue;
  readonly before: string;
  readonly after: string;
}

/** UTF-16 units that may stand on either side of data: a line or two. */
const AROUND = 400;

/** The object or list of a text, with what a tool printed around it. Where its end is missing, the part that is there. */
function dataIn(text: string): Data | undefined {
  const start = text.slice(0, AROUND).search(/\{\s*["}]|\[\s*[\]{["\d-]/);
  if (start === -1) return undefined;
  const before = text.slice(0, start);
  const end = text.lastIndexOf(text[start] === '{' ? '}' : ']') + 1;
  const whole = end > start && text.length - end <= AROUND ? parsed(text.slice(start, end)) : undefined;
  if (whole !== undefined) return { value: whole, before, after: text.slice(end) };
  for (const closed of closings(text.slice(start))) {
    const value = parsed(closed);
    if (value !== undefined) return { value, before, after: '' };
  }
  return undefined;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Closes what a text that was cut off leaves open: behind its last unit, and behind its last whole member. */
function closings(text: string): readonly string[] {
  const open: string[] = [];
  let inString = false;
  let whole: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const unit = text[at];
    if (inString) {
      if (unit === '\\') at++;
      else if (unit === '"') inString = false;
    } else if (unit === '"') inString = true;
    else if (unit === '{') open.push('}');
    else if (unit === '[') open.push(']');
    else if (unit === '}' || unit === ']') {
      if (open.pop() !== unit) return [];
    } else if (unit === ',' && at > text.length - AROUND)
      whole = text.slice(0, at) + open.toReversed().join('');
  }
  if (open.length === 0) return [];
  const closers = open.toReversed().join('');
  const cut = inString ? `${text.replace(/\\(?:u[\da-f]{0,3})?$/i, '')}"${closers}` : text + closers;
  return whole === undefined ? [cut] : [cut, whole];
}

function addFacts(value: JsonValue, owners: readonly string[], lines: string[], depth: number): void {
  const label = owners.slice(-OWNERS).join(' ');
  const add = (text: string) => text && lines.push(label ? `${label}: ${text}` : text);
  const short = inline(value, owners.at(-1));
  if (short !== undefined || depth > DEEPEST) {
    add(short ?? '');
  } else if (typeof value === 'string') {
    add(readable(value, depth + 1));
  } else if (Array.isArray(value)) {
    for (const item of value) addFacts(item, [...owners, ...nameOf(item)], lines, depth + 1);
  } else {
    let line = '';
    const nested: (readonly [string, JsonValue])[] = [];
    for (const [key, item] of Object.entries(value as JsonObject)) {
      const fact = inline(item, owners.at(-1));
      if (fact === undefined) nested.push([key, item as JsonValue]);
      else if (fact !== '') {
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

/** Keys whose values tell the items of a list apart, in this order; else the first value does. */
const NAMES = /^(?:name|title|id|key)$/i;

/** The name of an item that needs several lines, so that each says whose it is. */
function nameOf(item: JsonValue): readonly string[] {
  if (!isObject(item) || Object.values(item).every((value) => inline(value) !== undefined)) return [];
  const values = Object.entries(item).filter(([, value]) => {
    const short = inline(value);
    return short && short.length <= LONGEST_OWNER && typeof value !== 'object';
  });
  const [, name] = values.find(([key]) => NAMES.test(key)) ?? values[0] ?? [];
  return name === undefined ? [] : [String(name)];
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
