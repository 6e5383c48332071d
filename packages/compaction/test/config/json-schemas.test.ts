import { jsonObjectSchema } from '@x/core/internal';
import { expect, it } from 'vitest';
import { compactionJsonSchema } from '../../src/index.js';

it('describes JSON Schemas in snake_case that forbid other keys', () => {
  const { anyOf } = jsonObjectSchema.parse(compactionJsonSchema);
  expect(anyOf).toHaveLength(4);
  for (const form of anyOf as readonly object[]) expect(form).toMatchObject({ additionalProperties: false });
  expect(JSON.stringify(compactionJsonSchema)).not.toMatch(/"[a-z]+[A-Z]\w*":\{"(?:type|anyOf)/);
});
