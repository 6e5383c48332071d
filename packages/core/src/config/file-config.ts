import * as z from 'zod';
import type { Capability } from '../agent/capability.js';
import { InvalidInputError, type Issue } from '../errors/invalid-input-error.js';
import { isObject, type JsonObject, type JsonValue } from '../lib/json.js';
import { jsonObjectSchema } from '../lib/json-schemas.js';
import { memoize } from '../lib/memoize.js';
import { headOf } from '../lib/text.js';
import { parseWith } from './parse.js';

/**
 * Validates the data of a configuration file: keys in snake_case, checked by a schema in camelCase.
 *
 * @throws {InvalidInputError} with every invalid key as written in the file.
 */
export function parseFileConfig<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
  subject: string,
): z.output<Schema> {
  const data = withCamelKeys(value, jsonSchemaOf(schema), subject);
  return inFileTerms(() => parseWith(schema, data, subject));
}

/**
 * Returns the JSON Schema of such a file, for editors. It describes the written file, not the parsed result: keys with defaults are
 * optional, and values that only code can pass are not restricted.
 */
export function fileJsonSchema(schema: z.core.$ZodType): JsonObject {
  return jsonObjectSchema.parse(inSnakeCase(jsonSchemaOf(schema)));
}

/** A capability that configuration files can use: its schema for editors, and a function that creates it from the file's data. */
export interface FileCapability {
  /** @throws {InvalidInputError} with every invalid key as written in the file. */
  create(config: unknown): Capability | Promise<Capability>;
  readonly jsonSchema: JsonObject;
}

/**
 * Makes a capability available to configuration files.
 *
 * @param name The capability's name in files, for messages.
 * @param schema Its configuration in camelCase, as far as data can express it. `create` validates its argument.
 */
export function fileCapability<Schema extends z.core.$ZodType>(
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

const jsonSchemaOf = memoize(
  (schema: z.core.$ZodType) => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonObject,
);

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

const CAMEL_WORD = /\b[a-z]+\d*(?:[A-Z][a-z0-9]*)+\b/g;

/** Converts `keepMessages` to `keep_messages`. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Renames the keys that a schema defines to camelCase. Keys that are names, such as those of servers or variables, and data that the schema
 * does not describe are not changed.
 *
 * @param schema JSON Schema of the data, in camelCase.
 * @throws {InvalidInputError} with every key that has capitals where the schema defines keys. Files use only snake_case, so that no key can
 * occur twice.
 */
function withCamelKeys(value: unknown, schema: JsonObject, subject: string): unknown {
  refuseDepth(value, subject);
  const issues: Issue[] = [];
  const converted = convert(value, [schema], '', issues);
  if (issues.length > 0) throw new InvalidInputError(subject, issues);
  return converted;
}

/** Maximum nesting of a configuration. Some thousand levels would overflow the stack of parsers. */
const MOST_LEVELS = 1_000;

/** @throws {InvalidInputError} if a value is nested more than 1 000 levels deep, or contains itself. */
export function refuseDepth(value: unknown, subject: string, levels = MOST_LEVELS): void {
  if (typeof value !== 'object' || value === null) return;
  const message = `is nested more than ${MOST_LEVELS} levels deep, or contains itself`;
  if (levels === 0) throw new InvalidInputError(subject, [{ path: '', message }]);
  for (const inner of Object.values(value)) refuseDepth(inner, subject, levels - 1);
}

/** JSON has no comments. Parsed as YAML, a comment becomes part of the next key. */
const COMMENT = 'contains a comment that begins with //. Use # instead, or delete it.';

function convert(value: unknown, schemas: readonly JsonObject[], path: string, issues: Issue[]): unknown {
  const forms = schemas.flatMap(alternatives);
  if (Array.isArray(value)) {
    const items = forms.flatMap(({ items: schema }) => (isObject(schema) ? [schema] : []));
    return value.map((item, index) => convert(item, items, `${path}[${index}]`, issues));
  }
  if (typeof value !== 'object' || value === null) return value;
  const named = forms.flatMap(({ properties }) => (isObject(properties) ? [properties] : []));
  const open = forms.flatMap(({ additionalProperties: schema }) => (isObject(schema) ? [schema] : []));
  const entries = Object.entries(value).map(([key, item]) => {
    const at = path ? `${path}.${key}` : key;
    if (named.length === 0) return [key, convert(item, open, at, issues)];
    if (key.startsWith('//')) issues.push({ path: '', message: `${COMMENT} Found: ${headOf(key, 60)}` });
    else if (/[A-Z]/.test(key))
      issues.push({
        path: at,
        message: `unknown key; in a file, write ${toSnakeCase(key).replaceAll(/\s/g, '_')}`,
      });
    const camel = toCamel(key);
    const inner = named.flatMap(({ [camel]: schema }) => (isObject(schema) ? [schema] : []));
    return [camel, convert(item, inner, at, issues)];
  });
  return Object.fromEntries(entries);
}

/** Returns a schema, or all its alternatives if it offers a choice. */
function alternatives(schema: JsonObject): readonly JsonObject[] {
  const inner = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  return [schema, ...inner.flatMap((form: JsonValue) => (isObject(form) ? alternatives(form) : []))];
}

function toCamel(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Converts an error about the file: paths, and keys in messages, become snake_case. */
function withSnakeIssues({ subject, issues }: InvalidInputError): InvalidInputError {
  return new InvalidInputError(
    subject,
    issues.map(({ path, message }) => ({
      path: toSnakeCase(path),
      message: message.replaceAll(CAMEL_WORD, toSnakeCase),
    })),
  );
}
