import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { InvalidInputError } from '../../src/index.js';
import { formatPath, parseWith } from '../../src/internal.js';
import { errorOf } from '../error-of.js';

const schema = z.strictObject({
  limit: z.number().int().min(0).default(5),
  rules: z.array(z.strictObject({ tool: z.string() })).default([]),
});

describe('parseWith', () => {
  test('answers the parsed value with its defaults and its type', () => {
    const value = parseWith(schema, { limit: 0 }, 'Options');
    expect(value).toEqual({ limit: 0, rules: [] });
    expectTypeOf(value).toEqualTypeOf<{ limit: number; rules: { tool: string }[] }>();
  });

  test('names the path of every bad field', () => {
    const error = errorOf(() =>
      parseWith(schema, { limit: -1, rules: [{ tool: 'a' }, { tool: 7 }] }, 'Options'),
    );
    expect(InvalidInputError.isInstance(error) && error.issues.map(({ path }) => path)).toEqual([
      'limit',
      'rules[1].tool',
    ]);
    expect(error.message).toMatch(/^Invalid Options: limit: .*; rules\[1\]\.tool: .*string.*\.$/);
  });

  test('leads to every unknown key', () => {
    const error = errorOf(() =>
      parseWith(schema, { rules: [{ tool: 'a', tols: 1, x: 2 }], limt: 3 }, 'Options'),
    );
    expect(InvalidInputError.isInstance(error) && error.issues).toEqual([
      { path: 'rules[0].tols', message: 'unknown key; known keys are tool' },
      { path: 'rules[0].x', message: 'unknown key; known keys are tool' },
      { path: 'limt', message: 'unknown key; did you mean limit?' },
    ]);
  });

  test.each([
    ['user', 'userId'],
    ['maxRetry', 'maxRetries'],
    ['dir', 'directory'],
  ])('answers %s, which begins a known key, with %s', (wrong, right) => {
    const schema = z.strictObject({ [right]: z.string().optional() });
    const error = errorOf(() => parseWith(schema, { [wrong]: 'a' }, 'Options'));
    expect(error.message).toContain(`${wrong}: unknown key; did you mean ${right}?`);
  });

  test('suggests no key that is known at another place alone', () => {
    const deep = z.strictObject({
      list: z.array(
        z.strictObject({ inner: z.optional(z.strictObject({ maximum: z.number().optional() })) }),
      ),
      label: z.string().optional(),
    });
    const issues = [
      { list: [{ inner: { lable: 'a' } }], maximun: 1, maximum: 2 },
      { list: [{ inner: { maximun: 1 } }] },
    ];
    const told = issues.map((value) => errorOf(() => parseWith(deep, value, 'Options')));
    expect(told.map((error) => InvalidInputError.isInstance(error) && error.issues)).toEqual([
      [
        { path: 'list[0].inner.lable', message: 'unknown key; known keys are maximum' },
        { path: 'maximun', message: 'unknown key; known keys are list, label' },
        {
          path: 'maximum',
          message: 'unknown key here; maximum belongs to another group or preset; known keys are list, label',
        },
      ],
      [{ path: 'list[0].inner.maximun', message: 'unknown key; did you mean maximum?' }],
    ]);
  });

  test.each([
    ['k'.repeat(1_000_000), /^k{100} … k{100}$/],
    ['limt\u001b[2J\u202e\nB', /^limt\\u\{1b\}\[2J\\u\{202e\} B$/],
  ])(
    'bounds a key, and spells out what is not seen in it',
    (key, path) => {
      // Comparing the long key with each of these would take longer than a test may.
      const keys = Array.from({ length: 500 }, (_, index) => [`setting${index}`, z.string().optional()]);
      const error = errorOf(() =>
        parseWith(z.strictObject(Object.fromEntries(keys)), { [key]: 1 }, 'Options'),
      );
      expect(InvalidInputError.isInstance(error) && error.issues[0]?.path).toMatch(path);
      expect(error.message.length).toBeLessThan(1_000);
    },
    10_000,
  );

  test('bounds a value that a message quotes, and keeps its end', () => {
    const { message } = new InvalidInputError('Options', [
      { path: '', message: `has ${'v\u0007'.repeat(500_000)}; delete it` },
    ]);
    expect(message.length).toBeLessThan(8_000);
    expect(message).toMatch(/^Invalid Options: has v\\u\{7\}.* … .*; delete it\.$/);
  });

  test('ends with the remedy', () => {
    const error = errorOf(() => parseWith(schema, 5, 'Options', 'See the guide.'));
    expect(error.message).toMatch(/^Invalid Options: Invalid input: expected object.*\. See the guide\.$/);
  });
});

describe('formatPath', () => {
  test.each([
    [[], ''],
    [['a'], 'a'],
    [['context', 3, 'content', 0, 'text'], 'context[3].content[0].text'],
    [[0, 'a', 1, 2], '[0].a[1][2]'],
    [[Symbol.for('s')], 'Symbol(s)'],
  ])('%j', (path, text) => {
    expect(formatPath(path)).toBe(text);
  });
});

describe('a value that may have several forms', () => {
  test('is missing where it is left out', () => {
    const schema = z.object({ strategy: z.union([z.enum(['auto', 'native']), z.array(z.string())]) });
    expect(errorOf(() => parseWith(schema, {}, 'Options')).message).toBe(
      'Invalid Options: strategy: is missing.',
    );
  });

  test('is told what each form would have taken', () => {
    const schema = z.object({ strategy: z.union([z.enum(['auto', 'native']), z.array(z.string())]) });
    const error = errorOf(() => parseWith(schema, { strategy: 'magic' }, 'configuration'));
    expect(error.message).toMatch(
      /strategy: matches none of the allowed forms \(.*"auto"\|"native".*; or .*array/,
    );
  });
});
