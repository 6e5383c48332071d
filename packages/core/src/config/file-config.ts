import { z } from 'zod';
import type { Capability } from '../agent/capability.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import { type JsonObject, type JsonValue, jsonObjectSchema } from '../lib/json.js';
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
  const data = withCamelKeys(value, jsonSchemaOf(schema), subject);
  return inFileTerms(() => parseWith(schema, data, subject));
}

/**
 * JSON Schema of what such a file may hold, for editors. It describes what is written, not what comes out of it: keys with
 * defaults may be left out, and what only code can pass is not limited.
 */
export function fileJsonSchema(schema: z.ZodType): JsonObject {
  return jsonObjectSchema.parse(inSnakeCase(jsonSchemaOf(schema)));
}

/** A capability that files can name: how it is made of what they say, and what they may say. */
export interface FileCapability {
  /** @throws {InvalidInputError} naming every bad key as the file writes it. */
  create(config: unknown): Capability | Promise<Capability>;
  readonly jsonSchema: JsonObject;
}

/**
 * Describes a capability to files.
 *
 * @param name As files write it, for messages.
 * @param schema Its configuration in camelCase, as far as data can express it; `create` validates what it is given.
 */
export function fileCapability<Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  create: (config: z.input<Schema>) => Capability | Promise<Capability>,
): FileCapability {
  return {
    create(config) {
      const data = withCamelKeys(config ?? {}, jsonSchemaOf(schema), `${name} configuration`);
      return inFileTerms(() => create(data as z.input<Schema>));
    },
    jsonSchema: fileJsonSchema(schema),
  };
}

function inFileTerms<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw InvalidInputError.isInstance(error) ? withSnakeIssues(error) : error;
  }
}

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonObject;
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
