import { readFileSync } from 'node:fs';
import type { JsonValue } from '@x/core';
import { isObject, jsonObjectSchema } from '@x/core/internal';
import { describe, expect, it } from 'vitest';
import { compactionJsonSchema, evictionJsonSchema } from '../../src/index.js';

const page = readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8');

/** `key | default` of every row of the table below a heading. */
function documented(heading: string): string[] {
  const section = page.split(`## \`${heading}\``)[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| `([^`]+)` *\| (.*?) *\| /gm)];
  return rows.map(([, key, value]) => `${key} | ${value?.replaceAll('`', '')}`);
}

/** The same of every key in a schema, those of nested objects behind a dot. */
function declared(schema: JsonValue | undefined, prefix = ''): string[] {
  if (!isObject(schema)) return [];
  // Presets have pages of their own; the first form is the one without.
  if (prefix === '' && Array.isArray(schema.anyOf)) return declared(schema.anyOf[0]);
  const properties = isObject(schema.properties) ? schema.properties : {};
  return Object.entries(properties).flatMap(([key, property]) => {
    if (key === 'preset') return [];
    const forms = isObject(property) && Array.isArray(property.anyOf) ? property.anyOf : [property];
    const nested = forms.flatMap((form) => declared(form as JsonValue, `${prefix}${key}.`));
    if (nested.length > 0) return nested;
    const value = isObject(property) ? property.default : undefined;
    return [`${prefix}${key} | ${value === undefined ? '–' : JSON.stringify(value)}`];
  });
}

describe('docs/configuration.md', () => {
  it.each([
    ['compaction', compactionJsonSchema],
    ['tool_result_eviction', evictionJsonSchema],
  ])('lists every key of %s with its default, and no other', (heading, schema) => {
    expect(declared(schema).length).toBeGreaterThan(3);
    expect(documented(heading).sort()).toEqual(declared(schema).sort());
  });

  it('describes JSON Schemas that forbid other keys', () => {
    const { anyOf } = jsonObjectSchema.parse(compactionJsonSchema);
    expect(anyOf).toHaveLength(4);
    for (const form of anyOf as readonly object[])
      expect(form).toMatchObject({ additionalProperties: false });
    expect(JSON.stringify(compactionJsonSchema)).not.toMatch(/"[a-z]+[A-Z]\w*":\{"(?:type|anyOf)/);
  });
});
