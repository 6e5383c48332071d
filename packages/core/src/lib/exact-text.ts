import { base64, bytesIn } from './base64.js';
import { randomHex } from './digest.js';
import { isPlain } from './json.js';

/** Names for what can only be told by being the same object, or the same call: no other process gives them. */
const names = new WeakMap<object, string>();

/**
 * Writes a value as a text that no different value has: the JSON of what is plain, and for what JSON has no word for (bytes of
 * every kind, maps, sets, dates, `-0`) one that no JSON is. What does not show what it holds is equal to itself alone.
 */
export function exactText(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol') return `symbol(${randomHex(16)})`;
  if (typeof value === 'function') return nameOf(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  if (Array.isArray(value)) return `[${Array.from(value, exactText).join(',')}]`;
  if (isPlain(value)) {
    const entries = Object.entries(value).filter(([, child]) => child !== undefined);
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
