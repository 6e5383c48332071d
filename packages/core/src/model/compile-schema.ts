import * as z from 'zod';
import { formatPath } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import type { JsonObject } from '../lib/json.js';

/** A schema that a model can be given, and that checks the input which the model writes. */
export interface CompiledSchema<Output> {
  /** JSON Schema, draft 7. */
  readonly jsonSchema: JsonObject;
  /** @throws {InvalidInputError} naming the path of every bad field. */
  parse(value: unknown): Promise<Output>;
}

/**
 * Reads a Standard Schema that also gives JSON Schema, as zod 4 does, or plain JSON Schema (draft 7, or 2020-12 by its
 * `$schema` or `$defs`).
 *
 * @param names How errors speak: of `owner`, at `path`, when the schema is bad; of `value` when a value is.
 * @throws {InvalidInputError} when the schema gives no JSON Schema, holds what JSON Schema cannot say, or cannot be
 * checked against, for example a `$ref` to another document.
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
  const [standard, jsonSchema] = isStandardSchema(schema)
    ? [schema, jsonSchemaOf(schema, bad)]
    : [standardSchemaOf<Output>(schema, bad), schema];
  return { jsonSchema, parse: (value) => validate(standard, value, names.value) };
}

type Bad = (message: string, cause?: unknown) => InvalidInputError;

function isStandardSchema<Output>(
  value: StandardSchema<Output> | JsonObject,
): value is StandardSchema<Output> {
  return '~standard' in value;
}

function jsonSchemaOf(schema: StandardSchema, bad: Bad): JsonObject {
  const { vendor, jsonSchema } = schema['~standard'];
  if (jsonSchema === undefined) {
    throw bad(`the ${vendor} schema gives no JSON Schema; use zod 4, or pass JSON Schema`);
  }
  try {
    const { $schema: _, ...rest } = jsonSchema.input({ target: 'draft-07' });
    return rest as JsonObject;
  } catch (cause) {
    throw bad(`the ${vendor} schema cannot be told to a model`, cause);
  }
}

function standardSchemaOf<Output>(schema: JsonObject, bad: Bad): StandardSchema<Output> {
  const defaultTarget = '$defs' in schema ? 'draft-2020-12' : 'draft-7';
  try {
    return z.fromJSONSchema(schema as never, { defaultTarget }) as unknown as StandardSchema<Output>;
  } catch (cause) {
    throw bad('inputs cannot be checked against this JSON Schema', cause);
  }
}

async function validate<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
  subject: string,
): Promise<Output> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  throw new InvalidInputError(
    subject,
    result.issues.map((issue) => ({
      path: formatPath((issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))),
      message: issue.message,
    })),
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
