import { describe, expect, it } from 'vitest';
import { closeObjects } from '../../src/output/close-objects.js';

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
