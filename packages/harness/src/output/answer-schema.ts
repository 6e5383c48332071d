import type { JsonObject, JsonValue } from '@x/core';

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
