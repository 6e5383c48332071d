import type { JsonObject } from '@x/core';
import { isObject } from '@x/core/internal';

const DEFINITION = /^#\/(\$defs|definitions)\/([^/]+)$/;

/**
 * A schema without the references that Google's package refuses: those that lead in a circle, or not to a definition of the root. What they
 * described may be anything. The tool still checks its input by the whole schema.
 */
export function withoutCircles(schema: JsonObject): JsonObject {
  const root = structuredClone(schema) as Record<string, unknown>;
  const open = new Set<unknown>();
  const done = new Set<unknown>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null || done.has(node)) return;
    open.add(node);
    const { $ref } = node as { $ref?: unknown };
    if (isObject(node) && typeof $ref === 'string') {
      const [, list = '', name = ''] = DEFINITION.exec($ref) ?? [];
      const target = Object(root[list])[name.replaceAll('~1', '/').replaceAll('~0', '~')];
      if (isObject(target) && !open.has(target)) visit(target);
      else delete (node as { $ref?: unknown }).$ref;
    }
    for (const [key, child] of Object.entries(node))
      if (node !== root || !['$defs', 'definitions'].includes(key)) visit(child);
    open.delete(node);
    done.add(node);
  };
  visit(root);
  return root as JsonObject;
}
