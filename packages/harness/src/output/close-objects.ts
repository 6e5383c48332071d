import type { JsonObject, JsonValue } from '@x/core';
import { isObject } from '@x/core/internal';

/** JSON Schema keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ['items', 'additionalItems', 'contains', 'not', 'if', 'then', 'else'];
const LIST = ['anyOf', 'oneOf', 'allOf', 'items', 'prefixItems'];
const NAMED = ['properties', 'definitions', '$defs'];

/**
 * Disallows additional properties in all objects, unless the schema says otherwise: providers' strict modes require it,
 * and no caller would read such fields. Objects that `allOf` combines stay open, because each would reject the fields
 * of the others.
 */
export function closeObjects(schema: JsonObject): JsonObject {
  return close(schema, true);
}

function close(schema: JsonObject, closes: boolean): JsonObject {
  const closed: Record<string, JsonValue> = { ...schema };
  for (const key of ONE) {
    const child = schema[key];
    if (isObject(child)) closed[key] = close(child, key !== 'not' && key !== 'if');
  }
  const inner = (child: JsonValue, key = '') => (isObject(child) ? close(child, key !== 'allOf') : child);
  for (const key of LIST) {
    const children = schema[key];
    if (Array.isArray(children)) closed[key] = children.map((child: JsonValue) => inner(child, key));
  }
  for (const key of NAMED) {
    const children = Object.entries(isObject(schema[key]) ? schema[key] : {});
    if (children.length > 0)
      closed[key] = Object.fromEntries(children.map(([name, child]) => [name, inner(child)]));
  }
  const open = !('additionalProperties' in schema) && !('allOf' in schema) && 'properties' in schema;
  if (closes && open) closed.additionalProperties = false;
  return closed;
}
