import type { JsonValue } from '@x/core';

/** The value with every string in it replaced, at any depth; the very same value when no string changed. */
export function mapStrings(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => mapStrings(item, change));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const entries = Object.entries(value);
  const changed = entries.map(([key, item]) => [key, mapStrings(item, change)] as const);
  // `fromEntries` keeps a key such as `__proto__` an ordinary key.
  return changed.some(([, item], index) => item !== entries[index]?.[1])
    ? Object.fromEntries(changed)
    : value;
}
