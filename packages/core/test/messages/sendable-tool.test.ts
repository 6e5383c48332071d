import type { JsonObject } from '@x/core';
import { expect, it } from 'vitest';
import { sendableTool } from '../../src/messages/sendable-tool.js';

const tool = { name: 'look', description: 'Looks' };
const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

it('leaves a sound definition as it is', () => {
  const sound = { ...tool, inputSchema: path };
  expect(sendableTool(sound)).toEqual(sound);
  expect(sendableTool(sound).inputSchema).toBe(sendableTool(sound).inputSchema);
});

it('puts the properties of alternatives into one object', () => {
  const url = { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] };
  expect(sendableTool({ ...tool, inputSchema: { anyOf: [path, url], $defs: {} } }).inputSchema).toEqual({
    type: 'object',
    $defs: {},
    properties: { path: { type: 'string' }, url: { type: 'string' } },
  });
  const both = { ...path, oneOf: [{ required: ['path'] }, { required: ['url'] }] };
  expect(sendableTool({ ...tool, inputSchema: both }).inputSchema).toEqual(path);
  // Its own property wins over that of an alternative.
  const other = { properties: { path: { type: 'number' } } };
  const whole = { ...path, anyOf: [other], not: { required: ['url'] }, enum: [{ path: 'a' }] };
  expect(sendableTool({ ...tool, inputSchema: whole }).inputSchema).toEqual(path);
});

it('makes the texts of a definition well-formed', () => {
  const inputSchema = { ...path, description: 'Input \ud83d' };
  const half = { name: 'look', description: 'Looks \ud83d', inputSchema };
  expect(sendableTool(half).description).toBe('Looks \ufffd');
  expect(sendableTool(half).inputSchema.description).toBe('Input \ufffd');
});

const sent = (inputSchema: JsonObject) => sendableTool({ ...tool, inputSchema });

it.each<[string, JsonObject, JsonObject]>([
  [
    'tuples',
    { type: 'array', items: [{ type: 'string' }, true] },
    { type: 'array', items: { anyOf: [{ type: 'string' }, {}] } },
  ],
  [
    'tuples of draft 2020-12',
    { prefixItems: [{ type: 'string' }], items: false },
    { items: { anyOf: [{ type: 'string' }] } },
  ],
  ['tuples without items', { type: 'array', items: [] }, { type: 'array', items: {} }],
  [
    'tuples with more items',
    { items: [{ type: 'string' }], additionalItems: false },
    { items: { anyOf: [{ type: 'string' }] } },
  ],
  ...['patternProperties', '$defs', 'definitions', 'dependentSchemas'].map(
    (key): [string, JsonObject, JsonObject] => [
      `schemas in ${key}`,
      { [key]: { a: true } },
      { [key]: { a: {} } },
    ],
  ),
  ['lists of anything', { type: ['array', 'null'] }, { type: ['array', 'null'], items: {} }],
  [
    'booleans',
    { anyOf: [true, { not: {} }], additionalProperties: false },
    { anyOf: [{}, { not: {} }], additionalProperties: false },
  ],
  [
    'required fields that are not there',
    { properties: { b: false }, required: ['b', 'b', 'c'] },
    { properties: { b: { not: {} } }, required: ['b'] },
  ],
  [
    'values that look like schemas',
    { default: { items: [1] }, enum: [{ type: 'array' }] },
    { default: { items: [1] }, enum: [{ type: 'array' }] },
  ],
])('writes %s as all providers accept them, at any depth', (_, given, expected) => {
  const nested = (part: JsonObject) => ({
    type: 'object',
    properties: { a: { items: { allOf: [part] }, type: 'array' } },
  });
  expect(sent(nested(given)).inputSchema).toEqual(nested(expected));
});

it('tells in the description of inputs whose names providers reject', () => {
  const { inputSchema, description } = sent({
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { path: { type: 'string' }, 'filter[name]': { type: 'string' } },
    required: ['path', 'filter[name]'],
    additionalProperties: false,
  });
  const name = 'a'.repeat(65);
  expect(sent({ properties: { [name]: {} } }).description).toContain(name);
  expect(inputSchema).toEqual(path);
  expect(description).toBe(
    'Looks\nIt also accepts these inputs, with exactly these names: {"properties":{"filter[name]":{"type":"string"}},"required":["path","filter[name]"]}',
  );
});
