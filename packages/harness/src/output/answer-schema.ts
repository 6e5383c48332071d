import { isObject, type JsonObject, type JsonValue } from '@x/core';

/**
 * `schema` as the only field of an object. What it defines moves to the root, where references look for it; a schema that
 * refers to itself becomes a definition, too.
 */
export function wrapSchema(schema: JsonObject, field: string): JsonObject {
  const itself = `#/definitions/${field}`;
  const moved = rebased(schema, itself) as JsonObject;
  const isRecursive = JSON.stringify(moved) !== JSON.stringify(schema);
  const { definitions, $defs, ...value } = moved;
  const defined = isRecursive ? { ...(definitions as JsonObject | undefined), [field]: value } : definitions;
  return {
    type: 'object',
    properties: { [field]: isRecursive ? { $ref: itself } : value },
    required: [field],
    ...(defined === undefined ? {} : { definitions: defined }),
    ...($defs === undefined ? {} : { $defs }),
  };
}

function rebased(value: JsonValue, root: string): JsonValue {
  if (Array.isArray(value)) return value.map((item) => rebased(item, root));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, child]) => [
      key,
      key === '$ref' && typeof child === 'string' ? rebasedReference(child, root) : rebased(child, root),
    ]),
  );
}

function rebasedReference(reference: string, root: string): string {
  if (reference === '#') return root;
  const isDefinition = /^#\/(?:definitions|\$defs)\//.test(reference);
  return reference.startsWith('#/') && !isDefinition ? root + reference.slice(1) : reference;
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ['items', 'additionalItems', 'contains', 'not', 'if', 'then', 'else'];
const LIST = ['anyOf', 'oneOf', 'allOf', 'items', 'prefixItems'];
const NAMED = ['properties', 'definitions', '$defs'];

/**
 * Closes objects to fields that the schema does not name, unless it says otherwise: providers' strict modes require it, and
 * no caller would read such fields. Objects that `allOf` combines stay open, or each would refuse the fields of the others.
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
  for (const key of LIST) {
    const children = schema[key];
    if (!Array.isArray(children)) continue;
    closed[key] = children.map((child: JsonValue) =>
      isObject(child) ? close(child, key !== 'allOf') : child,
    );
  }
  for (const key of NAMED) {
    const children = schema[key];
    if (!isObject(children)) continue;
    closed[key] = Object.fromEntries(
      Object.entries(children).map(([name, child]) => [name, isObject(child) ? close(child, true) : child]),
    );
  }
  const open = !('additionalProperties' in schema) && !('allOf' in schema) && 'properties' in schema;
  if (closes && open) closed.additionalProperties = false;
  return closed;
}
