import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InvalidInputError, parseFileConfig } from '../../src/index.js';
import { fileCapability, fileJsonSchema } from '../../src/internal.js';

const schema = z.strictObject({
  keepMessages: z.number().default(20),
  summaryModel: z.strictObject({ contextWindow: z.number() }).optional(),
  maxTokens: z.number(),
});

describe('a configuration file', () => {
  it('writes keys in snake_case', () => {
    expect(parseFileConfig(schema, { keep_messages: 0, max_tokens: 5 }, 'file')).toEqual({
      keepMessages: 0,
      maxTokens: 5,
    });
  });

  it.each([
    [{ keepMessages: 1, max_tokens: 1 }, 'keepMessages', 'in a file, write keep_messages'],
    [{ max_tokens: 1, summary_model: { context_windw: 1 } }, 'summary_model.context_window', 'number'],
    [{ max_tokens: 1, extra_key: 1 }, 'extra_key', 'unknown key'],
  ])('is told what is wrong, as it wrote it: %j', (value, path, message) => {
    const error = (() => {
      try {
        parseFileConfig(schema, value, 'file');
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(InvalidInputError.isInstance(error)).toBe(true);
    const issues = (error as InvalidInputError).issues;
    expect(issues.find((issue) => issue.path === path)?.message).toContain(message);
  });

  it.each(['deep', 'cyclic'])('refuses a %s value in place of overflowing the stack', (kind) => {
    const end: unknown[] = [];
    const value = Array.from({ length: 20_000 }).reduce<unknown>((inner) => [inner], end);
    if (kind === 'cyclic') end.push(end, end);
    const read = () => parseFileConfig(schema, { keep_messages: kind === 'deep' ? value : end }, 'a.yaml');
    expect(read).toThrow('Invalid a.yaml: is nested more than 1000 levels deep, or contains itself.');
  });

  it('has a JSON Schema with the same keys', () => {
    const json = fileJsonSchema(schema);
    expect(json).toMatchObject({
      additionalProperties: false,
      required: ['max_tokens'],
      properties: { keep_messages: { default: 20 }, summary_model: { required: ['context_window'] } },
    });
  });
});

describe('a capability in a file', () => {
  const servers = z.strictObject({
    servers: z.record(
      z.string(),
      z.strictObject({ maxTries: z.int().default(1), env: z.record(z.string(), z.string()) }),
    ),
    client: z.custom<object>().optional(),
  });
  const seen: unknown[] = [];
  const { create, jsonSchema } = fileCapability('servers', servers, (config) => {
    seen.push(servers.parse(config));
    if (Object.keys(config.servers).length === 0) {
      throw new InvalidInputError('servers', [{ path: 'maxTries', message: 'needs maxTries' }]);
    }
    return { name: 'servers' };
  });

  it('keeps names as they are, and what the schema leaves open', () => {
    create({ servers: { my_server: { max_tries: 3, env: { API_KEY: 'k' } } }, client: { Some_Thing: 1 } });
    expect(seen.at(-1)).toEqual({
      servers: { my_server: { maxTries: 3, env: { API_KEY: 'k' } } },
      client: { Some_Thing: 1 },
    });
    expect(JSON.stringify(jsonSchema)).toContain('"max_tries"');
  });

  it.each([
    [
      { servers: { a: { maxTries: 3, env: {} } } },
      /servers\.a\.maxTries: unknown key; in a file, write max_tries/,
    ],
    [{ servers: {} }, /max_tries: needs max_tries/],
  ])('speaks as the file does: %j', (config, message) => {
    expect(() => create(config)).toThrow(message);
  });
});
