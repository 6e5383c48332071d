import { z } from 'zod';

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
