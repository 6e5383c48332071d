import { formatPath } from '../config/parse.js';

/** A value that survives `JSON.parse(JSON.stringify(value))`. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON object; immutable. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** Tests if a value is an object and not an array. */
export function isObject(value: JsonValue | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Tests if an object is plain, unlike a `Map`, a date or a class instance. */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype === null || prototype === Object.prototype) return true;
  // A plain object of another realm has another prototype, which is also the root of its prototype chain.
  return Object.getPrototypeOf(prototype) === null;
}

/** Replaces the items of a list, or the values of an object. Returns the same value if nothing changes. `key` is empty for an item. */
export function mapChildren(
  value: JsonValue,
  change: (child: JsonValue, key: string) => JsonValue,
): JsonValue {
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => change(item, ''));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const changed = entries.map(([key, item]) => [key, change(item, key)] as const);
  // `fromEntries` keeps a key such as `__proto__` an ordinary key.
  return changed.some(([, item], index) => item !== entries[index]?.[1])
    ? Object.fromEntries(changed)
    : value;
}

/** Parses JSON; `undefined` for invalid JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Serializes a plain value as JSON at any depth. `JSON.stringify` throws at some thousands of levels. In deeper values, `toJSON` is
 * not called.
 */
export function jsonText(value: JsonValue): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return deepJsonText(value);
    throw error;
  }
}

/** Levels whose keys are sorted. Deeper objects keep the order of their keys. */
const SORTED_DEPTH = 100;

/** Serializes a JSON value with sorted keys: equal values have the same text, in whatever order a database or a model gave the keys. */
export function sortedJson(value: unknown): string {
  return jsonText(sorted(value as JsonValue, 0));
}

function sorted(value: JsonValue, depth: number): JsonValue {
  if (typeof value !== 'object' || value === null || depth > SORTED_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => sorted(item, depth + 1));
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item, depth + 1)]));
}

function deepJsonText(value: JsonValue): string {
  const parts: string[] = [];
  const open: ({ readonly text: string } | { readonly value: JsonValue })[] = [{ value }];
  for (let next = open.pop(); next; next = open.pop()) {
    if ('text' in next) parts.push(next.text);
    else if (typeof next.value !== 'object' || next.value === null) parts.push(JSON.stringify(next.value));
    else {
      const list = Array.isArray(next.value);
      open.push({ text: list ? ']' : '}' });
      const entries = Object.entries(next.value as JsonObject).filter(([, inner]) => inner !== undefined);
      for (const [index, [key, inner]] of [...entries.entries()].reverse()) {
        open.push(
          { value: inner },
          { text: `${index > 0 ? ',' : ''}${list ? '' : `${JSON.stringify(key)}:`}` },
        );
      }
      open.push({ text: list ? '[' : '{' });
    }
  }
  return parts.join('');
}

/** Maximum number of keys of a path in an error message. */
const PATH_KEYS = 20;

/** Maximum nesting of a stored value. Some thousand levels overflow the stack of validators and serializers. */
const DEEPEST = 1_000;

interface Fault {
  /** The keys that lead to the faulty part, innermost first. */
  readonly keys: PropertyKey[];
  readonly message: string;
}

/**
 * Finds the first part of a value that JSON cannot represent: a function, symbol, bigint, non-finite number, object with `toJSON`,
 * object that is not plain, hole in a list, or value nested more than 1 000 levels deep, as in a cycle. `undefined` properties are
 * allowed, because JSON omits them.
 */
export function jsonFault(root: unknown): { readonly path: string; readonly message: string } | undefined {
  const fault = root === undefined ? undefined : faultIn(root, 0);
  if (fault === undefined) return undefined;
  const keys = fault.keys.reverse();
  const path = `${formatPath(keys.slice(0, PATH_KEYS))}${keys.length > PATH_KEYS ? ' …' : ''}`;
  return { path, message: fault.message };
}

function faultIn(value: unknown, depth: number): Fault | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return undefined;
  const message = unfit(value, depth);
  if (message !== undefined) return { keys: [], message };
  if (typeof value !== 'object') return undefined;
  // No keys for an array, because it may have millions of items.
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  const length = keys?.length ?? (value as readonly unknown[]).length;
  for (let index = 0; index < length; index++) {
    const key = keys?.[index] ?? index;
    const inner = (value as Record<PropertyKey, unknown>)[key];
    if (keys !== undefined && inner === undefined) continue;
    const fault = faultIn(inner, depth + 1);
    if (fault === undefined) continue;
    fault.keys.push(key);
    return fault;
  }
  return undefined;
}

function unfit(value: unknown, depth: number): string | undefined {
  if (depth > DEEPEST) return `is nested more than ${DEEPEST} levels deep, or refers to itself`;
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : `is ${value}, which JSON cannot represent`;
  if (value === undefined) return 'is undefined, which JSON cannot represent';
  if (typeof value !== 'object' || value === null) return `is a ${typeof value}, which JSON cannot represent`;
  if (Array.isArray(value)) return undefined;
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return 'is an object with toJSON; pass the result of toJSON()';
  return isPlain(value)
    ? undefined
    : `is not a plain object but a ${value.constructor?.name}, which JSON cannot represent`;
}
