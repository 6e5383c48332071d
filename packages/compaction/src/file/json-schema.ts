import { type JsonObject, type JsonValue, jsonObjectSchema } from '@x/core';
import { z } from 'zod';
import { evictionConfigSchema } from '../eviction/eviction-config.js';
import { isObject } from '../message-marks.js';
import { compactionFileSchema } from './compaction-file.js';
import { toSnake } from './snake-case.js';

/** JSON Schema of the `compaction` configuration in a file, for editors and for validation elsewhere. */
export const compactionJsonSchema: JsonObject = fileSchemaOf(compactionFileSchema);

/** JSON Schema of the `tool_result_eviction` configuration in a file. */
export const evictionJsonSchema: JsonObject = fileSchemaOf(evictionConfigSchema);

function fileSchemaOf(schema: z.ZodType): JsonObject {
  // What is written, not what comes out of it: keys with defaults may be left out. Objects of code are not for files.
  return jsonObjectSchema.parse(
    inSnakeCase(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonValue),
  );
}

function inSnakeCase(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(inSnakeCase);
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (keyword !== 'properties' || !isObject(value)) return [keyword, inSnakeCase(value as JsonValue)];
    const properties = Object.entries(value).map(([name, property]) => [
      toSnake(name),
      inSnakeCase(property as JsonValue),
    ]);
    return [keyword, Object.fromEntries(properties)];
  });
  return Object.fromEntries(entries);
}
