import { expect, it } from 'vitest';
import { googleSchema } from '../../src/prompt/google-schema.js';

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
  expect(googleSchema(schema)).toEqual({
    ...schema,
    properties: { ...schema.properties, c: { title: 'all' } },
    $defs: { ...schema.$defs, node: { ...node, properties: { next: {}, name: { $ref: '#/$defs/name' } } } },
  });
});

it.each([
  { enum: [] },
  { enum: ['auto', 1] },
  { enum: [{}] },
  { const: [1, 'a'] },
  { type: 'string', enum: ['a', null] },
  { type: 'integer', enum: [1, 1.5] },
  { type: 'integer', enum: ['1'] },
])('leaves out the values %j', (values) => {
  const { enum: _, const: __, ...rest } = values as { enum?: unknown; const?: unknown };
  expect(googleSchema({ properties: { a: { ...values, title: 'A' } } })).toEqual({
    properties: { a: { ...rest, title: 'A' } },
  });
});

it('keeps values of one type, and fields that are called as keywords are', () => {
  const values = [
    { enum: ['a', null] },
    { type: ['integer', 'null'], enum: [1, null] },
    { type: 'number', const: 1.5 },
    { enum: [true] },
  ];
  const named = { enum: { type: 'string' }, const: { title: 'C' }, $ref: { type: 'string' } };
  const schema = { properties: { ...named, list: { anyOf: values } } };
  expect(googleSchema(schema)).toEqual(schema);
});

it('leaves out formats and values that Google rejects', () => {
  const time = { type: 'string', format: 'date-time' };
  expect(
    googleSchema({
      properties: {
        address: { type: 'string', format: 'uri' },
        large: { type: 'string', format: 'int64' },
        count: { type: 'integer', format: 'int64' },
        time,
        format: { type: 'string' },
        choice: { type: 'string', enum: ['', 'a'] },
      },
    }),
  ).toEqual({
    properties: {
      address: { type: 'string' },
      large: { type: 'string' },
      count: { type: 'integer', format: 'int64' },
      time,
      format: { type: 'string' },
      choice: { type: 'string' },
    },
  });
});
