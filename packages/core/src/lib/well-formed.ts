import { isObject, isPlain } from './json.js';

/**
 * Replaces unpaired surrogates by U+FFFD, in a text, or in all texts and keys of a plain value, because providers reject requests
 * that contain one. Returns the same value if nothing changes.
 */
export function wellFormed<Value>(value: Value): Value {
  // Nearly every value is well-formed, and each message is looked at several times.
  return isWellFormed(value) ? value : (mended(value) as Value);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isObject(value) || !isPlain(value)) return true;
  for (const key in value) if (!key.isWellFormed() || !isWellFormed(value[key])) return false;
  return true;
}

function mended(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(mended);
  if (!isObject(value) || !isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [mended(key), mended(child)]));
}

/** Returns `list` itself if `other` has the same items, else `other`. */
export function same<Item>(list: readonly Item[], other: readonly Item[]): readonly Item[] {
  return other.length === list.length && other.every((item, index) => item === list[index]) ? list : other;
}
