import * as z from 'zod';
import { isObject, type JsonObject, type JsonValue } from './json.js';

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
