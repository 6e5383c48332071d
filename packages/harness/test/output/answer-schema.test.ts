import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { closeObjects, wrapSchema } from '../../src/output/answer-schema.js';

describe('a schema in a field', () => {
  it('means the same, also where it refers to itself and to what it defines', () => {
    const schema = {
      anyOf: [{ $ref: '#/definitions/leaf' }, { type: 'array', items: { $ref: '#' } }],
      definitions: { leaf: { type: 'string', minLength: 1 } },
    };
    const wrapped = z.fromJSONSchema(wrapSchema(schema, 'value') as never, { defaultTarget: 'draft-7' });
    for (const value of ['a', [], ['a', ['b', []]]]) expect(wrapped.safeParse({ value }).success).toBe(true);
    for (const value of ['', 1, ['a', [1]], { value: 'a' }])
      expect(wrapped.safeParse({ value }).success).toBe(false);
  });
});

describe('closed objects', () => {
  it('are those that name their fields and do not say otherwise', () => {
    const named = { type: 'object', properties: { a: { type: 'string' } } };
    const schema = {
      type: 'object',
      properties: {
        list: { type: 'array', items: named },
        any: { type: 'object', properties: {}, additionalProperties: { type: 'number' } },
        record: { type: 'object' },
        both: { allOf: [named, { type: 'object', properties: { b: {} } }] },
      },
    };
    expect(closeObjects(schema)).toEqual({
      ...schema,
      additionalProperties: false,
      properties: {
        ...schema.properties,
        list: { type: 'array', items: { ...named, additionalProperties: false } },
      },
    });
  });
});
