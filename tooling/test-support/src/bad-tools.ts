import type { JsonObject } from '@x/core';
import type { BadContent } from '../../../packages/testkit/src/strict/bad-contents.js';

/** Bad content, or a tool that a provider would reject. */
export interface Bad extends BadContent {
  /** The definition of the tool `look`. */
  readonly tool?: { readonly description?: string; readonly inputSchema?: JsonObject };
}

const schema = (name: string, inputSchema: JsonObject): Bad => ({ name, tool: { inputSchema } });
const fields = (name: string, properties: JsonObject): Bad => schema(name, { type: 'object', properties });
const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

function nested(levels: number): JsonObject {
  let inner: JsonObject = { type: 'string' };
  for (let level = 0; level < levels; level++) inner = { type: 'object', properties: { a: inner } };
  return { a: inner };
}

/** Tools that made providers reject every request. */
export const badTools: readonly Bad[] = [
  { name: 'half of a character in a description', tool: { description: 'Looks \ud83d' } },
  fields('half of a character in a schema', { 'a\ud83d': { type: 'string', description: '\ude00' } }),
  fields('type that does not exist', { path: { type: 'int' } }),
  fields('required on a field', { path: { type: 'string', required: true } }),
  fields('reference to nothing', { path: { $ref: '#/definitions/path' } }),
  fields('reference to another document', { path: { $ref: 'https://example.com/path.json' } }),
  fields('references in circles', { path: { $ref: '#' }, a: { $ref: '#/properties/a' } }),
  fields('values of mixed types', { path: { enum: ['auto', 1] } }),
  fields('pattern that cannot be compiled', { path: { type: 'string', pattern: '(' } }),
  fields('schema of 200 kB', { path: { type: 'string', description: 'words '.repeat(33_000) } }),
  fields('schema of 3000 levels', nested(3_000)),
  fields('list of anything', { path: { type: 'array' }, a: { type: ['array', 'null'] } }),
  fields('tuple', { path: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } }),
  fields('tuple of draft 2020-12', {
    path: { type: 'array', prefixItems: [{ type: 'string' }], items: false },
  }),
  fields('schemas that are booleans', { path: true, a: { type: 'object', properties: { b: false } } }),
  fields('names in brackets and of other scripts', {
    'filter[name]': { type: 'string' },
    $schema: {},
    路径: {},
  }),
  fields('name of 100 characters', { ['path'.repeat(25)]: { type: 'string' } }),
  fields('formats', { path: { type: 'string', format: 'uri' }, a: { type: 'string', format: 'email' } }),
  fields('empty value', { path: { type: 'string', enum: ['', 'a'] } }),
  schema('required and not there', { ...path, required: ['path', 'path', 'url'] }),
  schema('draft 4', { ...path, $schema: 'http://json-schema.org/draft-04/schema#', id: 'look' }),
  schema('no type', { properties: path.properties }),
  schema('schema of a list', { type: 'array', items: { type: 'string' } }),
  schema('alternatives', { anyOf: [path, { type: 'object', properties: { url: { type: 'string' } } }] }),
  schema('object with alternatives', { ...path, oneOf: [{ required: ['path'] }, { required: ['url'] }] }),
  schema('alternatives that refer', { allOf: [{ $ref: '#/$defs/path' }], $defs: { path } }),
];
