import * as z from 'zod';

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

// Carried, not inspected: validating every leaf of provider metadata and tool input would cost more than all else.
/** Any JSON value. */
export const jsonValueSchema: z.ZodType<JsonValue> = z.custom<JsonValue>(
  (value) => value !== undefined,
  'must be a JSON value',
);
/** Any JSON object. */
export const jsonObjectSchema: z.ZodType<JsonObject> = z.custom<JsonObject>(
  isObject,
  'must be a JSON object',
);

/** Tests for an object that is no array. */
export function isObject(value: JsonValue | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Writes a value as JSON, however deep it is nested: `JSON.stringify` throws from some thousands of levels on. Without
 * `toJSON`: the value is plain.
 */
export function jsonText(value: JsonValue): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return deepJsonText(value);
    throw error;
  }
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
