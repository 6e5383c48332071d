import { expect, it } from 'vitest';
import { withoutCircles } from '../../src/prompt/google-schema.js';

it('leaves out references in a circle or to no definition, and keeps all others', () => {
  const node = {
    type: 'object',
    properties: { next: { $ref: '#/$defs/node' }, name: { $ref: '#/$defs/name' } },
  };
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/node' }, b: { $ref: '#/$defs/node' }, c: { $ref: '#', title: 'all' } },
    $defs: { node, name: { type: 'string' } },
  };
  expect(withoutCircles(schema)).toEqual({
    ...schema,
    properties: { ...schema.properties, c: { title: 'all' } },
    $defs: { ...schema.$defs, node: { ...node, properties: { next: {}, name: { $ref: '#/$defs/name' } } } },
  });
});
