import type { JsonObject } from '@x/core';
import { isObject } from '@x/core/internal';

const DEFINITION = /^#\/(\$defs|definitions)\/([^/]+)$/;
/** Keywords whose value is an object with user-defined keys, which are not keywords themselves. */
const NAMED = ['properties', '$defs', 'definitions'];

/** Matches a type and a format that Google accepts for it. */
const FORMAT = /^(?:string (?:date-time|enum)|number (?:float|double)|integer (?:int32|int64))$/;

type Fields = { $ref?: unknown; type?: unknown; enum?: unknown; const?: unknown; format?: unknown };

/**
 * Removes from a schema what Google or its package rejects: circular references, references to anything but a definition of the root,
 * `enum` and `const` with mixed types or empty texts, and unsupported formats. The schema then allows any value in their place. The tool
 * still validates its input with the original schema.
 */
export function googleSchema(schema: JsonObject): JsonObject {
  const root = structuredClone(schema) as Record<string, unknown>;
  const open = new Set<unknown>();
  const done = new Set<unknown>();
  const visit = (node: unknown, isNamed = false): void => {
    if (typeof node !== 'object' || node === null || done.has(node)) return;
    open.add(node);
    const fields: Fields = isNamed ? {} : node;
    if (typeof fields.$ref === 'string') {
      const [, list = '', name = ''] = DEFINITION.exec(fields.$ref) ?? [];
      const target = Object(root[list])[name.replaceAll('~1', '/').replaceAll('~0', '~')];
      if (isObject(target) && !open.has(target)) visit(target);
      else delete fields.$ref;
    }
    if (!FORMAT.test(`${fields.type} ${fields.format}`)) delete fields.format;
    if (!isOfOneType(fields)) {
      delete fields.enum;
      delete fields.const;
    }
    for (const [key, child] of Object.entries(node))
      if (node !== root || !['$defs', 'definitions'].includes(key))
        visit(child, !isNamed && NAMED.includes(key));
    open.delete(node);
    done.add(node);
  };
  visit(root);
  return root as JsonObject;
}

/** Tests if all values of `enum` or `const` are texts, numbers or booleans of one type, and the schema allows this type. */
function isOfOneType({ type, enum: list, const: only }: Fields): boolean {
  if (list === undefined && only === undefined) return true;
  const isNullable = type === undefined || [type].flat().includes('null');
  const values = [list ?? only].flat().filter((value) => value !== null || !isNullable);
  const [kind, ...others] = new Set(values.map((value) => typeof value));
  const allowed = [type ?? kind].flat();
  if (values.includes('')) return false;
  if (kind === 'number' && allowed.includes('integer')) return values.every(Number.isInteger);
  return others.length === 0 && /^(?:string|number|boolean)$/.test(kind ?? '') && allowed.includes(kind);
}
