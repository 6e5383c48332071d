import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from '@cfworker/json-schema';
import { formatPath } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import { TimeLimitError } from '../lib/deadline.js';
import { type JsonObject, sortedJson } from '../lib/json.js';
import { runTimed } from '../lib/run-timed.js';
import { errorText } from '../lib/text.js';

/** A schema that is sent to a model and validates the model's input. */
export interface CompiledSchema<Output> {
  /** JSON Schema, draft 7. */
  readonly jsonSchema: JsonObject;
  /**
   * Validates a value. Returns a promise only if the schema validates asynchronously.
   *
   * @throws {InvalidInputError} with the path of every invalid field.
   */
  parse(value: unknown): Output | Promise<Output>;
}

/**
 * Compiles a Standard Schema that can be converted to JSON Schema (such as zod 4), or plain JSON Schema (draft 7, or 2020-12 if it has
 * `$schema` or `$defs`). On Node, validation by JSON Schema stops after 0.1 seconds of CPU time and rejects the value.
 *
 * @param names Names for error messages: `owner` and `path` for an invalid schema, `value` for an invalid value.
 * @throws {InvalidInputError} if the schema cannot be written as JSON Schema or cannot be used to validate, for example because of a
 * `$ref` to another document.
 */
export function compileSchema<Output>(
  schema: StandardSchema<Output> | JsonObject,
  names: { readonly owner: string; readonly path: string; readonly value: string },
): CompiledSchema<Output> {
  const bad = (message: string, cause?: unknown) => {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    return new InvalidInputError(names.owner, [{ path: names.path, message: `${message}${reason}` }], {
      cause,
    });
  };
  if (typeof schema !== 'object' || schema === null) {
    throw bad('must be a schema: zod, another Standard Schema, or JSON Schema');
  }
  if (!isStandardSchema(schema) && isTableOfFields(schema)) {
    throw bad(
      "is a table of fields, not a schema; write z.strictObject({ … }), or { type: 'object', properties: { … } }",
    );
  }
  const [standard, jsonSchema] = isStandardSchema(schema)
    ? [schema, jsonSchemaOf(schema, bad)]
    : [standardSchemaOf<Output>(schema, bad), schema];
  return { jsonSchema, parse: (value) => parse(standard, value, names.value) };
}

type Bad = (message: string, cause?: unknown) => InvalidInputError;

function isStandardSchema<Output>(
  value: StandardSchema<Output> | JsonObject,
): value is StandardSchema<Output> {
  return '~standard' in value;
}

/** The schema of an object must have one of these keywords. Without any, the caller has probably passed only the fields. */
const KEYWORDS =
  /^(?:\$.+|x-.+|type|properties|required|\w+Properties|propertyNames|dependen\w+|definitions|enum|const|not|if|\w+Of|title|description|default|examples)$/;

function isTableOfFields(schema: JsonObject): boolean {
  const keys = Object.keys(schema);
  const holdsSchema = Object.values(schema as object).some(
    (value) => value !== null && typeof value === 'object' && '~standard' in value,
  );
  return holdsSchema || (keys.length > 0 && !keys.some((key) => KEYWORDS.test(key)));
}

function jsonSchemaOf(schema: StandardSchema, bad: Bad): JsonObject {
  const { vendor, jsonSchema } = schema['~standard'];
  if (jsonSchema === undefined) {
    throw bad(`the ${vendor} schema cannot be converted to JSON Schema; use zod 4, or pass JSON Schema`);
  }
  try {
    const { $schema: _, ...rest } = jsonSchema.input({ target: 'draft-07' });
    return rest as JsonObject;
  } catch (cause) {
    throw bad(`the ${vendor} schema cannot be converted to JSON Schema`, cause);
  }
}

function standardSchemaOf<Output>(jsonSchema: JsonObject, bad: Bad): StandardSchema<Output> {
  const fault = schemaFault(jsonSchema, 'u');
  if (fault !== undefined) throw bad(`inputs cannot be checked against this JSON Schema: ${fault}`);
  // The validator writes addresses into the schema, so it gets a copy of the caller's object.
  const schema = structuredClone(jsonSchema) as Schema;
  const draft = draftOf(jsonSchema);
  const relaxed = structuredClone(schema);
  const lookup = dereference(schema);
  const relaxedLookup = dereference(relaxed);
  let asksForDistinct = false;
  // The validator compares all pairs of items. Checking for duplicates first, which is faster, avoids that for distinct items.
  for (const part of Object.values(relaxedLookup)) {
    if (typeof part !== 'object' || !part.uniqueItems) continue;
    asksForDistinct = true;
    delete part.uniqueItems;
  }
  const check = (value: unknown) =>
    within(() => {
      const isRelaxed = asksForDistinct && isDistinct(value);
      return isRelaxed
        ? validate(value, relaxed, draft, relaxedLookup, false).errors
        : validate(value, schema, draft, lookup, false).errors;
    });
  // A fault of the schema itself occurs with any value.
  const [limit] = check({}).filter(({ keyword }) => keyword === 'limit');
  if (limit) throw bad(`inputs cannot be checked against this JSON Schema: the schema ${limit.error}`);
  return {
    '~standard': {
      version: 1,
      vendor: 'json-schema',
      validate(value) {
        const errors = check(value);
        return errors.length === 0
          ? { value: value as Output }
          : { issues: errors.filter(isLeaf).map(issueOf) };
      },
    },
  };
}

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
const named = (value: Schema, ...keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, value]));
const part: Schema = { $ref: '#' };

/** The meta-schema: rules that hold in every draft from 7 on. */
const META_SCHEMA: Schema = {
  type: ['object', 'boolean'],
  properties: {
    ...named(part, 'additionalProperties', 'additionalItems', 'propertyNames', 'contains', 'not', 'if'),
    ...named(part, 'then', 'else', 'unevaluatedItems', 'unevaluatedProperties'),
    ...named(
      { type: 'object', additionalProperties: part },
      ...['properties', 'patternProperties', 'definitions', '$defs', 'dependentSchemas'],
    ),
    ...named({ type: 'array', minItems: 1, items: part }, 'allOf', 'anyOf', 'oneOf', 'prefixItems'),
    ...named({ type: 'string' }, '$ref', '$schema', '$id', 'title', 'description', 'pattern', 'format'),
    ...named({ type: 'number' }, 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'),
    ...named({ type: 'integer', minimum: 0 }, 'minLength', 'maxLength', 'minItems', 'maxItems'),
    ...named({ type: 'integer', minimum: 0 }, 'minProperties', 'maxProperties', 'minContains', 'maxContains'),
    items: { anyOf: [part, { type: 'array', items: part }] },
    type: { anyOf: [{ enum: TYPES }, { type: 'array', minItems: 1, items: { enum: TYPES } }] },
    required: { type: 'array', items: { type: 'string' } },
    enum: { type: 'array' },
    uniqueItems: { type: 'boolean' },
  },
};

/**
 * Describes a fault of a JSON Schema that makes providers reject every request with it: an invalid keyword or pattern, or an invalid
 * `$ref`. A `$ref` to another document is invalid. Returns `undefined` for a valid schema.
 *
 * @param flags Flags with which patterns are compiled.
 */
export function schemaFault(jsonSchema: JsonObject, flags = ''): string | undefined {
  try {
    const [fault] = validate(jsonSchema, META_SCHEMA, '7', undefined, false).errors.filter(isLeaf);
    if (fault !== undefined) return `${formatPath(issueOf(fault).path)} ${fault.error}`.trim();
    const lookup = dereference(structuredClone(jsonSchema) as Schema);
    for (const each of Object.values(lookup))
      if (typeof each === 'object') refuseUncheckable(each, lookup, flags);
    return undefined;
  } catch (error) {
    return error instanceof RangeError ? TOO_DEEP : errorText(error);
  }
}

/** Tests if no list within a value has duplicates. */
function isDistinct(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const parts = Object.values(value);
  const isRepeating = Array.isArray(value) && new Set(parts.map(sortedJson)).size < parts.length;
  return !isRepeating && parts.every(isDistinct);
}

function draftOf({ $schema, ...schema }: JsonObject): SchemaDraft {
  if (typeof $schema === 'string') return /2020-12|2019-09/.test($schema) ? '2020-12' : '7';
  return '$defs' in schema ? '2020-12' : '7';
}

/** Throws for parts of a schema for which the validator would throw at every value, or which it would silently skip. */
function refuseUncheckable(part: Schema, lookup: ReturnType<typeof dereference>, flags: string): void {
  const { $ref, __absolute_ref__, pattern, patternProperties = {} } = part;
  if ($ref !== undefined && lookup[__absolute_ref__ ?? $ref] === undefined) {
    throw new Error(`External $ref is not supported: ${$ref}`);
  }
  if ('$dynamicRef' in part) throw new Error('$dynamicRef is not supported; use $ref');
  for (const source of [pattern ?? '', ...Object.keys(patternProperties)]) new RegExp(source, flags);
}

const LIMIT_MS = 100;
const TOO_DEEP = 'is nested too deeply';

/** Runs a check with a limit of CPU time. Values that cannot be checked are rejected with the reason. */
function within(check: () => readonly OutputUnit[]): readonly OutputUnit[] {
  try {
    return runTimed(LIMIT_MS, check);
  } catch (error) {
    const isDeep = error instanceof RangeError;
    if (!isDeep && !TimeLimitError.isInstance(error)) throw error;
    const words = isDeep ? TOO_DEEP : `cannot be checked within ${LIMIT_MS} ms; shorten it`;
    return [{ keyword: 'limit', keywordLocation: '', instanceLocation: '#', error: words }];
  }
}

/** Keywords whose errors only repeat that a part has errors. */
const ANNOUNCING = new Set(
  'properties patternProperties additionalProperties unevaluatedProperties propertyNames items'
    .concat(
      ' prefixItems additionalItems unevaluatedItems $ref $recursiveRef allOf anyOf if dependencies dependentSchemas',
    )
    .split(' '),
);

function isLeaf({ keyword }: OutputUnit, _: number, all: readonly OutputUnit[]): boolean {
  return !ANNOUNCING.has(keyword) || all.every((other) => ANNOUNCING.has(other.keyword));
}

function issueOf({ keyword, instanceLocation, error }: OutputUnit) {
  const path = instanceLocation
    .split('/')
    .slice(1)
    .map((step) => decodeURIComponent(step.replaceAll('~1', '/').replaceAll('~0', '~')))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const missing = keyword === 'required' ? /^[^"]*"(.*)"\.$/s.exec(error)?.[1] : undefined;
  if (missing !== undefined) return { path: [...path, missing], message: 'is missing' };
  return { path, message: keyword === 'false' ? 'is not allowed' : error.replace(/\.$/, '') };
}

function parse<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
  subject: string,
): Output | Promise<Output> {
  const result = schema['~standard'].validate(value);
  return 'then' in result ? result.then((found) => outputOf(found, subject)) : outputOf(result, subject);
}

function outputOf<Output>(result: StandardResult<Output>, subject: string): Output {
  if (result.issues === undefined) return result.value;
  throw new InvalidInputError(
    subject,
    result.issues.map((issue) => ({
      path: formatPath((issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))),
      message: issue.message,
    })),
    { isFromClient: true },
  );
}

/**
 * The part of the Standard Schema and Standard JSON Schema specifications (https://standardschema.dev) that tools
 * need: validation, and the schema as JSON Schema.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-07' }) => Record<string, unknown>;
    };
  };
}

/** The result of a validation by a Standard Schema: the value, or its issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };
