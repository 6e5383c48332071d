import * as z from 'zod';
import { isObject, type JsonObject, type JsonValue } from './json.js';

// Checked superficially, because validating every leaf of provider metadata and tool input would cost too much.
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
