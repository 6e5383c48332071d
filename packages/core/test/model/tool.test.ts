import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  InvalidInputError,
  type JsonObject,
  type JsonValue,
  type StandardSchema,
  type ToolContext,
} from '../../src/index.js';
import type { ToolReturn } from '../../src/internal.js';
import { errorOf } from '../error-of.js';
import { thrownBy } from '../thrown-by.js';

// The tools here look at nothing of it.
const context = {} as ToolContext;

const weather = defineTool({
  name: 'get_weather',
  description: 'Current weather of a city',
  readOnly: true,
  input: z.object({ city: z.string(), days: z.number().int().min(1).default(1) }),
  execute: ({ city, days }) => `Sunny in ${city} for ${days}`,
});

function returning(value: ToolReturn): Promise<readonly unknown[]> {
  return defineTool({ name: 't', description: 't', input: z.object({}), execute: () => value }).run(
    {},
    context,
  );
}

describe('defineTool with zod', () => {
  test('tells a model what it takes', () => {
    expect(weather.definition).toMatchObject({
      name: 'get_weather',
      description: 'Current weather of a city',
      inputSchema: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, default: 1 } },
        required: ['city'],
      },
    });
    expect(weather.definition.inputSchema).not.toHaveProperty('$schema');
    expect(JSON.parse(JSON.stringify(weather.definition))).toEqual(weather.definition);
  });

  test('validates, fills in defaults, then runs', async () => {
    expect(await weather.run({ city: 'Bern' }, context)).toEqual([
      { type: 'text', text: 'Sunny in Bern for 1' },
    ]);
  });

  test('refuses bad input before it runs, naming every path', async () => {
    const tool = defineTool({
      name: 'edit',
      description: 'Edits.',
      input: z.strictObject({ edits: z.array(z.object({ line: z.number() })), path: z.string() }),
      execute: () => {
        throw new Error('must not run');
      },
    });
    const error = await thrownBy(tool.run({ edits: [{ line: 1 }, { line: 'two' }] }, context));
    expect(InvalidInputError.isInstance(error) && error.issues.map(({ path }) => path)).toEqual([
      'edits[1].line',
      'path',
    ]);
    expect(error.message).toMatch(/^Invalid input of tool edit: edits\[1\]\.line: /);
  });

  test('is not read-only and has no limit of its own unless it says so', () => {
    const plain = defineTool({ name: 'a', description: 'a', input: z.object({}), execute: () => 'x' });
    expect([plain.readOnly, 'timeoutMs' in plain]).toEqual([false, false]);
    expect(weather.readOnly).toBe(true);
    const unlimited = defineTool({
      name: 'a',
      description: 'a',
      timeoutMs: 0,
      input: z.object({}),
      execute: () => 'x',
    });
    expect(unlimited.timeoutMs).toBe(0);
  });

  test('infers the input', () => {
    defineTool({
      name: 'a',
      description: 'a',
      input: z.object({
        city: z.string(),
        days: z.number().default(1),
        units: z.enum(['c', 'f']).optional(),
      }),
      execute(input, { signal }) {
        expectTypeOf(input).toEqualTypeOf<{ city: string; days: number; units?: 'c' | 'f' | undefined }>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        return 'x';
      },
    });
    expect(weather.definition.name).toBe('get_weather');
  });

  test('hands over the context that it was run with', async () => {
    const runtime = { marker: 1 };
    const tool = defineTool({
      name: 'a',
      description: 'a',
      input: z.object({}),
      execute: (_, given) => String(given.runtime === (runtime as unknown)),
    });
    const given = { runtime } as unknown as ToolContext;
    expect(await tool.run({}, given)).toEqual([{ type: 'text', text: 'true' }]);
  });

  test('says which tool holds what JSON Schema cannot say', () => {
    const error = errorOf(() =>
      defineTool({ name: 'remind', description: 'r', input: z.object({ at: z.date() }), execute: () => 'x' }),
    );
    expect(InvalidInputError.isInstance(error) && [error.subject, error.issues[0]?.path]).toEqual([
      'tool remind',
      'input',
    ]);
    expect(error.message).toMatch(/Date/);
    expect(error.cause).toBeInstanceOf(Error);
  });
});

describe('defineTool with JSON Schema', () => {
  const inputSchema: JsonObject = {
    type: 'object',
    properties: { query: { type: 'string', minLength: 1 }, limit: { type: 'integer', maximum: 50 } },
    required: ['query'],
  };
  const search = defineTool({
    name: 'search',
    description: 'Finds things.',
    input: inputSchema,
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<JsonObject>();
      return JSON.stringify(input);
    },
  });

  test('tells the model the very schema', () => {
    expect(search.definition.inputSchema).toBe(inputSchema);
  });

  test('validates, and keeps properties that the schema does not name', async () => {
    const input = { query: 'x', limit: 5, extra: [1] };
    expect(await search.run(input, context)).toEqual([{ type: 'text', text: JSON.stringify(input) }]);
  });

  test.each<[JsonValue, string[]]>([
    [{}, ['query']],
    [{ query: '' }, ['query']],
    [{ query: 'x', limit: 51 }, ['limit']],
    [{ query: 5, limit: 1.5 }, ['query', 'limit']],
    ['x', ['']],
    [null, ['']],
  ])('refuses %j', async (input, paths) => {
    const error = await thrownBy(search.run(input, context));
    expect(InvalidInputError.isInstance(error) && error.issues.map(({ path }) => path)).toEqual(paths);
  });

  test.each(['definitions', '$defs'])('follows references into %s', async (place) => {
    const tool = defineTool({
      name: 'tree',
      description: 't',
      input: {
        type: 'object',
        properties: { root: { $ref: `#/${place}/node` } },
        [place]: { node: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
      },
      execute: () => 'ok',
    });
    expect(await tool.run({ root: { name: 'a' } }, context)).toEqual([{ type: 'text', text: 'ok' }]);
    const error = await thrownBy(tool.run({ root: { name: 1 } }, context));
    expect(error.message).toMatch('root.name');
  });

  test('refuses a tool without a name or without anything to execute', () => {
    const input = { type: 'object' } as const;
    expect(() => defineTool({ name: '', description: 'd', input, execute: () => 1 })).toThrow(
      'name: must be',
    );
    const nothing = { name: 'search', description: 'd', input } as never;
    expect(() => defineTool(nothing)).toThrow('Invalid tool search: execute: must be a function');
  });

  test.each([-1, Number.NaN, '100'])('is refused with %j for a time-out', (timeoutMs) => {
    const tool = { name: 'search', description: '', input: z.object({}), execute: () => '' };
    const odd = { ...tool, timeoutMs: timeoutMs as number };
    expect(() => defineTool(odd)).toThrow('Invalid tool search: timeoutMs: must be a number of milliseconds');
    for (const limit of [0, Number.POSITIVE_INFINITY])
      expect(defineTool({ ...tool, timeoutMs: limit }).timeoutMs).toBe(limit);
  });

  test('refuses a name that providers refuse, and a tool without a description', () => {
    const sound = { name: 'a', description: 'a', input: z.object({}), execute: () => '' };
    for (const name of ['', 'a b!', 'a'.repeat(129)]) {
      expect(() => defineTool({ ...sound, name })).toThrow('name: must be 1 to 128 letters');
    }
    expect(() => defineTool({ ...sound, description: undefined as never })).toThrow(
      'description: must be a string',
    );
  });

  test.each([[{ city: 'string' }], [{ city: z.string() }], [{ type: z.string() }]])(
    'refuses a table of fields in place of a schema: %j',
    (input) => {
      const tool = { name: 'a', description: 'a', input: input as never, execute: () => '' };
      expect(() => defineTool(tool)).toThrow(
        'input: is a table of fields, not a schema; write z.strictObject',
      );
    },
  );

  test('refuses a schema that inputs cannot be checked against', () => {
    const error = errorOf(() =>
      defineTool({
        name: 'far',
        description: 'f',
        input: { type: 'object', properties: { a: { $ref: 'https://example.net/schema.json' } } },
        execute: () => 'x',
      }),
    );
    expect(InvalidInputError.isInstance(error) && error.subject).toBe('tool far');
    expect(error.message).toMatch(/cannot be checked.*External \$ref/);
  });
});

describe('defineTool with any Standard Schema', () => {
  const words: StandardSchema<string[]> = {
    '~standard': {
      version: 1,
      vendor: 'by-hand',
      validate: async (value) =>
        typeof value === 'string'
          ? { value: value.split(' ') }
          : {
              issues: [
                { message: 'must be words', path: ['list', { key: 2 }, { key: 'text' }] },
                { message: 'bad' },
              ],
            },
      jsonSchema: { input: ({ target }) => ({ $schema: target, type: 'string' }) },
    },
  };
  const tool = defineTool({
    name: 'count',
    description: 'Counts words.',
    input: words,
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<string[]>();
      return input.length;
    },
  });

  test('asks it for draft 7, and runs with what it answers', async () => {
    expect(tool.definition.inputSchema).toEqual({ type: 'string' });
    expect(await tool.run('a b c', context)).toEqual([{ type: 'text', text: '3' }]);
  });

  test('reads paths of keys and of segments', async () => {
    const error = await thrownBy(tool.run(5, context));
    expect(InvalidInputError.isInstance(error) && error.issues).toEqual([
      { path: 'list[2].text', message: 'must be words' },
      { path: '', message: 'bad' },
    ]);
  });

  test('refuses one that gives no JSON Schema', () => {
    const { jsonSchema: _, ...standard } = words['~standard'];
    const error = errorOf(() =>
      defineTool({ name: 'mute', description: 'm', input: { '~standard': standard }, execute: () => 'x' }),
    );
    expect(error.message).toBe(
      'Invalid tool mute: input: the by-hand schema cannot be converted to JSON Schema; use zod 4, or pass JSON Schema.',
    );
  });
});

class Point {
  x = 1;
}

const circle: Record<string, unknown> = {};
circle.self = circle;

describe('what a tool returns', () => {
  test.each<[string, unknown]>([
    ['a reference to itself', circle],
    ['a promise within', { later: Promise.resolve(1) }],
    ['an iterator within', { rows: [1].values() }],
    ['a function', () => 1],
    ['a symbol', Symbol('odd')],
    [
      'a getter that throws',
      {
        get total() {
          throw new Error('gone');
        },
      },
    ],
  ])('that holds %s leaves its outcome open', async (_, value) => {
    await expect(returning(value as ToolReturn)).rejects.toMatchObject({
      code: 'outcome_unknown',
      outcome: 'unknown',
      message: expect.stringMatching(/^The result of t cannot be stored: .+/),
    });
  });

  test('an error alone counts as thrown', async () => {
    const error = new Error('no such order');
    await expect(returning(error as never)).rejects.toBe(error);
  });

  test('a generator that is not asynchronous gives its last value', async () => {
    function* work() {
      yield 'half';
      yield 'done';
    }
    const tool = defineTool({ name: 't', description: 't', input: z.object({}), execute: work });
    expect(await tool.run({}, context)).toEqual([{ type: 'text', text: 'done' }]);
  });

  test('an update that cannot be shown ends nothing', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
    onTestFinished(() => warned.mockRestore());
    const tool = defineTool({
      name: 't',
      description: 't',
      input: z.object({}),
      execute(_, { onUpdate }) {
        onUpdate(circle as never);
        return 'done';
      },
    });
    expect(await tool.run({}, { ...context, onUpdate: () => {} })).toEqual([{ type: 'text', text: 'done' }]);
    expect(warned).toHaveBeenCalledOnce();
  });

  test.each<[string, unknown, string]>([
    ['a bigint', { id: 12345678901234567890n }, '{"id":"12345678901234567890"}'],
    ['a bigint alone', 5n, '"5"'],
    ['numbers that are none', [Number.NaN, -Infinity], '["NaN","-Infinity"]'],
    [
      'an error within',
      [{ status: 'rejected', reason: new TypeError('bad') }],
      '[{"status":"rejected","reason":"TypeError: bad"}]',
    ],
    ['a map and a set', { map: new Map([['a', 1]]), set: new Set([1]) }, '{"map":[["a",1]],"set":[1]}'],
    [
      'dates',
      { at: new Date(0), bad: new Date(Number.NaN) },
      '{"at":"1970-01-01T00:00:00.000Z","bad":"Invalid Date"}',
    ],
    ['an instance of a class', new Point(), '{"x":1}'],
    ['text', 'plain', 'plain'],
    ['empty text', '', ''],
    ['nothing', undefined, 'Done.'],
    ['null', null, 'Done.'],
    ['a number', 0, '0'],
    ['a boolean', false, 'false'],
    ['an object', { a: [1, null] }, '{"a":[1,null]}'],
    ['a list of data', [1, 'b'], '[1,"b"]'],
    ['an empty list', [], '[]'],
    ['data with a type', { type: 'text', text: 'x' }, '{"type":"text","text":"x"}'],
    [
      'a list of files that are no blocks',
      [{ type: 'file', path: 'a.txt' }],
      '[{"type":"file","path":"a.txt"}]',
    ],
    ['blocks among data', [{ type: 'text', text: 'a' }, 1], '[{"type":"text","text":"a"},1]'],
  ])('%s', async (_, value, text) => {
    expect(await returning(value as ToolReturn)).toEqual([{ type: 'text', text }]);
  });

  test('blocks stay blocks', async () => {
    const blocks = [
      { type: 'text', text: 'Here it is.' },
      { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } },
    ] as const;
    expect(await returning(blocks)).toBe(blocks);
  });

  test('what it throws is thrown', async () => {
    const failure = new TypeError('disk full');
    const tool = defineTool({
      name: 'a',
      description: 'a',
      input: z.object({}),
      async execute() {
        throw failure;
      },
    });
    await expect(tool.run({}, context)).rejects.toBe(failure);
  });
});
