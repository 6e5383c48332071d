import { base64, bytesIn } from './base64.js';
import { randomHex } from './digest.js';
import { isPlain } from './json.js';

/** Random names of objects and functions that are only equal to themselves. No other process produces the same names. */
const names = new WeakMap<object, string>();

/**
 * Serializes a value so that different values have different texts. Plain values become JSON with sorted keys, because
 * databases return the keys of JSON in another order. Values that JSON cannot represent (bytes
 * of every kind, maps, sets, dates, `-0`) become text that is not JSON. A value with hidden content equals only itself.
 */
export function exactText(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol') return `symbol(${randomHex(16)})`;
  if (typeof value === 'function') return nameOf(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  if (Array.isArray(value)) return `[${Array.from(value, exactText).join(',')}]`;
  if (isPlain(value)) {
    const entries = Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .sort(([left], [right]) => (left < right ? -1 : 1));
    return `{${entries.map(([key, child]) => `${JSON.stringify(key)}:${exactText(child)}`).join(',')}}`;
  }
  return `${JSON.stringify(value.constructor?.name ?? '')}(${shownBy(value)})`;
}

function shownBy(value: object): string {
  const bytes = bytesIn(value);
  if (bytes !== undefined) return base64(bytes);
  if (value instanceof Map || value instanceof Set) return exactText([...value]);
  return value instanceof Date || value instanceof URL ? JSON.stringify(value) : nameOf(value);
}

function nameOf(value: object): string {
  const name = names.get(value) ?? randomHex(16);
  names.set(value, name);
  return name;
}
