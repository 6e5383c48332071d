import { InvalidInputError, type Issue } from '../errors/invalid-input-error.js';
import type { JsonObject, JsonValue } from '../lib/json.js';

const CAMEL_WORD = /\b[a-z]+\d*(?:[A-Z][a-z0-9]*)+\b/g;

/** `keepMessages` → `keep_messages` */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * The same data with the keys that a schema names in camelCase. Keys that are names themselves, as of servers or
 * variables, and what the schema leaves open stay as they are.
 *
 * @param schema JSON Schema of the data, in camelCase.
 * @throws {InvalidInputError} naming every key with capitals where the schema names keys: files are written in snake_case
 *   alone, so that no key can be there twice.
 */
export function withCamelKeys(value: unknown, schema: JsonObject, subject: string): unknown {
  const issues: Issue[] = [];
  const converted = convert(value, [schema], '', issues);
  if (issues.length > 0) throw new InvalidInputError(subject, issues);
  return converted;
}

function convert(value: unknown, schemas: readonly JsonObject[], path: string, issues: Issue[]): unknown {
  const forms = schemas.flatMap(alternatives);
  if (Array.isArray(value)) {
    const items = forms.flatMap(({ items: schema }) => (isSchema(schema) ? [schema] : []));
    return value.map((item, index) => convert(item, items, `${path}[${index}]`, issues));
  }
  if (typeof value !== 'object' || value === null) return value;
  const named = forms.flatMap(({ properties }) => (isSchema(properties) ? [properties] : []));
  const open = forms.flatMap(({ additionalProperties: schema }) => (isSchema(schema) ? [schema] : []));
  const entries = Object.entries(value).map(([key, item]) => {
    const at = path ? `${path}.${key}` : key;
    if (named.length === 0) return [key, convert(item, open, at, issues)];
    if (/[A-Z]/.test(key)) issues.push({ path: at, message: `unknown key; files write ${toSnakeCase(key)}` });
    const camel = toCamel(key);
    const inner = named.flatMap(({ [camel]: schema }) => (isSchema(schema) ? [schema] : []));
    return [camel, convert(item, inner, at, issues)];
  });
  return Object.fromEntries(entries);
}

/** A schema and, where it offers a choice, all that may be chosen. */
function alternatives(schema: JsonObject): readonly JsonObject[] {
  const inner = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  return [schema, ...inner.filter(isSchema).flatMap(alternatives)];
}

function isSchema(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toCamel(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The same error about the file: paths, and keys that messages name, in snake_case. */
export function withSnakeIssues({ subject, issues }: InvalidInputError): InvalidInputError {
  return new InvalidInputError(
    subject,
    issues.map(({ path, message }) => ({
      path: toSnakeCase(path),
      message: message.replaceAll(CAMEL_WORD, toSnakeCase),
    })),
  );
}
