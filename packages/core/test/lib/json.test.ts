import { describe, expect, test } from 'vitest';
import { isObject, type JsonValue, jsonObjectSchema, jsonText, jsonValueSchema } from '../../src/index.js';

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
