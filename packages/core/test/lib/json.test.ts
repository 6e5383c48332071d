import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/index.js';
import { isObject, jsonObjectSchema, jsonText, jsonValueSchema, sortedJson } from '../../src/internal.js';

describe('jsonValueSchema', () => {
  test.each([null, 0, '', false, [], {}, [1, { a: [null] }]])('takes %j as it is', (value) => {
    expect(jsonValueSchema.parse(value)).toBe(value);
  });

  test('refuses a value that is not there', () => {
    expect(jsonValueSchema.safeParse(undefined).error?.issues[0]?.message).toBe('must be a JSON value');
  });
});

describe('jsonObjectSchema', () => {
  test('takes an object as it is, the very same', () => {
    const value = { nested: { deep: [1] } };
    expect(jsonObjectSchema.parse(value)).toBe(value);
  });

  test.each([null, undefined, [], 'text', 1])('refuses %j', (value) => {
    expect(jsonObjectSchema.safeParse(value).error?.issues[0]?.message).toBe('must be a JSON object');
  });
});

describe('isObject', () => {
  test.each([[{}], [{ a: 1 }], [Object.create(null)]])('accepts %o', (value) => {
    expect(isObject(value)).toBe(true);
  });

  test.each([[null], [undefined], [[]], ['text'], [1], [() => 1]])('refuses %o', (value: unknown) => {
    expect(isObject(value)).toBe(false);
  });
});

describe('jsonText', () => {
  test.each([null, 0, 'a"b\n', [], {}, [1, { a: [null, true], 'b"': {} }], { list: [[], [[]]] }])(
    'is JSON.stringify, also of %j nested 20 000 levels deep',
    (value) => {
      expect(jsonText(value)).toBe(JSON.stringify(value));
      let deep: JsonValue = value;
      for (let level = 0; level < 10_000; level++) deep = [{ inner: deep, next: 1 }];
      expect(jsonText(deep)).toBe(
        `${'[{"inner":'.repeat(10_000)}${JSON.stringify(value)}${',"next":1}]'.repeat(10_000)}`,
      );
    },
  );
});

describe('sortedJson', () => {
  test('gives values that differ in the order of their keys alone the same text', () => {
    const text = '{"a":[{"c":null,"d":"x"}],"b":1}';
    expect(sortedJson({ b: 1, a: [{ d: 'x', c: null }] })).toBe(text);
    expect(sortedJson({ a: [{ c: null, d: 'x' }], b: 1 })).toBe(text);
    expect(sortedJson([1, 2])).not.toBe(sortedJson([2, 1]));
  });

  test('writes a value that is nested some thousands of levels deep', () => {
    const deep = '{"b":'.repeat(20_000) + 1 + '}'.repeat(20_000);
    expect(sortedJson({ b: 1, a: JSON.parse(deep) })).toBe(`{"a":${deep},"b":1}`);
  });
});
