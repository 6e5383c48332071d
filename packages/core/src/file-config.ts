import { z } from 'zod';
import { InvalidInputError } from './errors/invalid-input-error.js';
import { type JsonObject, type JsonValue, jsonObjectSchema } from './json.js';
import { parseWith } from './parse.js';
import { toSnakeCase, withCamelKeys, withSnakeIssues } from './snake-case.js';

/**
 * Validates what a configuration file holds: keys in snake_case, checked by a schema in camelCase.
 *
 * @throws {InvalidInputError} naming every bad key as the file writes it.
 */
export function parseFileConfig<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  subject: string,
): z.output<Schema> {
  const data = withCamelKeys(value, subject);
  try {
    return parseWith(schema, data, subject);
  } catch (error) {
    throw InvalidInputError.isInstance(error) ? withSnakeIssues(error) : error;
  }
}

/**
 * JSON Schema of what such a file may hold, for editors. It describes what is written, not what comes out of it: keys with
 * defaults may be left out, and what only code can pass is not limited.
 */
export function fileJsonSchema(schema: z.ZodType): JsonObject {
  return jsonObjectSchema.parse(
    inSnakeCase(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonValue),
  );
}

function inSnakeCase(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(inSnakeCase);
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    if (keyword === 'required' && Array.isArray(value)) {
      return [keyword, value.map((name) => toSnakeCase(String(name)))];
    }
    if (keyword !== 'properties' || !isObject(value)) return [keyword, inSnakeCase(value)];
    const properties = Object.entries(value).map(([name, property]) => [
      toSnakeCase(name),
      inSnakeCase(property),
    ]);
    return [keyword, Object.fromEntries(properties)];
  });
  return Object.fromEntries(entries);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
