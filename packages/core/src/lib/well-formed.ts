import { isObject, isPlain } from './json.js';

/**
 * Replaces unpaired surrogates by U+FFFD, in a text, or in all texts and keys of a plain value, because providers reject requests
 * that contain one. Returns the same value if nothing changes.
 */
export function wellFormed<Value>(value: Value): Value {
  if (typeof value === 'string') return (value.isWellFormed() ? value : value.toWellFormed()) as Value;
  if (Array.isArray(value)) return same(value, value.map(wellFormed)) as Value;
  if (!isObject(value) || !isPlain(value)) return value;
  const entries = Object.entries(value);
  const mended = entries.map(([key, child]) => [wellFormed(key), wellFormed(child)] as const);
  const isSame = mended.every(
    ([key, child], index) => key === entries[index]?.[0] && child === entries[index]?.[1],
  );
  return isSame ? value : (Object.fromEntries(mended) as Value);
}

/** Returns `list` itself if `other` has the same items, else `other`. */
export function same<Item>(list: readonly Item[], other: readonly Item[]): readonly Item[] {
  return other.length === list.length && other.every((item, index) => item === list[index]) ? list : other;
}
