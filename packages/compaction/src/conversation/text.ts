import { errorText, headOf, type JsonValue, tailOf } from '@x/core';

/**
 * Cuts a text to at most `length` UTF-16 units: three quarters from the head, one from the tail, `marker` between them. Never splits a
 * surrogate pair. A marker that does not fit is left out.
 */
export function cutMiddle(text: string, length: number, marker: string): string {
  if (text.length <= length) return text;
  const room = length - marker.length;
  if (room <= 0) return headOf(text, Math.max(0, length));
  const tail = Math.floor(room / 4);
  return headOf(text, room - tail) + marker + tailOf(text, tail);
}

/** Replaces every string in a value, at any depth. Answers the very same value when no string changed. */
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

/** Renders a thrown value in one line: the name and the message of an error, at most 300 characters. */
export function errorLine(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : errorText(error);
  return headOf(text.replaceAll(/\s+/g, ' ').trim(), 300);
}
