import { describe, expect, test } from 'vitest';
import { defineTool, InvalidInputError, type JsonObject, type JsonValue } from '../../src/index.js';
import { compileSchema } from '../../src/messages.js';

const names = { owner: 'tool t', path: 'input', value: 'input of t' };

async function refusal(schema: JsonObject, value: JsonValue): Promise<readonly string[]> {
  try {
    // A tool's own check, and that of tools of MCP servers, which are made by it.
    await defineTool({ name: 't', description: 't', input: schema, execute: () => '' }).parse?.(value);
    return [];
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`);
  }
}

const properties = {
  kind: { type: 'string' },
  size: { type: 'number' },
  constructor: { type: 'string' },
} as const;

describe('JSON Schema', () => {
  test.each<[string, JsonObject, JsonValue, JsonValue, RegExp]>([
    [
      'if, then',
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      { properties, if: { properties: { kind: { const: 'box' } } }, then: { required: ['size'] } },
      { kind: 'box', size: 1 },
      { kind: 'box' },
      /^size: is missing/,
    ],
    [
      'dependentRequired',
      { $schema: 'https://json-schema.org/draft/2020-12/schema', dependentRequired: { card: ['address'] } },
      { card: 1, address: 2 },
      { card: 1 },
      /address/,
    ],
    [
      'not',
      { properties: { kind: { not: { const: 'root' } } } },
      { kind: 'leaf' },
      { kind: 'root' },
      /^kind: /,
    ],
    [
      'unevaluatedProperties',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        allOf: [{ properties: { kind: { type: 'string' } } }],
        unevaluatedProperties: false,
      },
      { kind: 'a' },
      { kind: 'a', other: 1 },
      /^other: is not allowed/,
    ],
    [
      'anyOf of required',
      { anyOf: [{ required: ['kind'] }, { required: ['size'] }] },
      { size: 1 },
      {},
      /^kind: is missing/,
    ],
    ['a property called constructor', { properties }, {}, { constructor: 1 }, /^constructor: /],
    ['closed objects', { properties, additionalProperties: false }, {}, { othr: 1 }, /^othr: is not allowed/],
    [
      'items',
      { properties: { list: { items: { type: 'number' } } } },
      { list: [1] },
      { list: [1, 'b'] },
      /^list\[1\]: /,
    ],
    ['a key with a slash', { properties: { 'a/b~c %': { type: 'null' } } }, {}, { 'a/b~c %': 1 }, /a\/b~c %/],
  ])('checks %s', async (_, schema, good, bad, reason) => {
    expect(await refusal({ type: 'object', ...schema }, good)).toEqual([]);
    expect((await refusal({ type: 'object', ...schema }, bad)).join('\n')).toMatch(reason);
  });

  test('finds what is twice in a list, however long the list is', async () => {
    const schema = { properties: { ids: { type: 'array', uniqueItems: true } } };
    const ids = Array.from({ length: 40_000 }, (_, index) => index);
    expect(await refusal(schema, { ids })).toEqual([]);
    expect(await refusal(schema, { ids: [...ids.slice(0, 9), 3] })).toMatchObject([
      expect.stringMatching(/^ids: Duplicate items/),
    ]);
    const alike = [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ];
    expect(await refusal(schema, { ids: alike })).toHaveLength(1);
    expect(await refusal(schema, { ids: [1, '1', [1], { 0: 1 }, true, null, 'null'] })).toEqual([]);
  });

  test('leaves schema and value as they are', async () => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/definitions/a' } },
      definitions: { a: { default: 1 } },
    };
    const text = JSON.stringify(schema);
    const compiled = compileSchema<object>(schema, names);
    expect(compiled.jsonSchema).toBe(schema);
    expect(await compiled.parse({})).toEqual({});
    expect(JSON.stringify(schema)).toBe(text);
  });

  // Without a limit these would run until the test is given up.
  test.each<[string, JsonObject, string]>([
    ['a pattern', { type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(60)}!`],
    ['another', { type: 'string', pattern: '^(.*a){20}$' }, 'a'.repeat(60).concat('!')],
    ['the key of patternProperties', { patternProperties: { '^(b+)+$': true } }, ''],
  ])('is not blocked by %s that backtracks', async (_, schema, text) => {
    const value = text === '' ? { [`${'b'.repeat(60)}!`]: 1 } : text;
    expect((await refusal(schema, value)).join()).toMatch('cannot be checked within 100 ms');
    expect(await refusal({ type: 'string', pattern: '^a+$' }, 'aa')).toEqual([]);
  });

  test.each<[string, JsonObject]>([
    ['a pattern that is none', { type: 'string', pattern: '(' }],
    ['a reference to nothing', { $ref: '#/definitions/none' }],
    ['a reference to itself', { $ref: '#' }],
    ['a keyword of another kind', { anyOf: 'both' }],
    [
      'a reference that the validator skips',
      { $defs: { s: { $dynamicAnchor: 's' } }, items: { $dynamicRef: '#s' } },
    ],
  ])('refuses %s when it is read', (_, schema) => {
    expect(() => compileSchema(schema, names)).toThrow(/^Invalid tool t: input: inputs cannot be checked/);
  });

  test('refuses a value that is nested more deeply than can be followed', async () => {
    const schema = { properties: { next: { $ref: '#' } } };
    let value: JsonValue = {};
    for (let depth = 0; depth < 50_000; depth++) value = { next: value };
    expect((await refusal(schema, value)).join()).toMatch('nested too deeply');
  });
});
