import { describe, expect, test } from 'vitest';
import { isObject, jsonObjectSchema, jsonValueSchema } from '../../src/index.js';

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
