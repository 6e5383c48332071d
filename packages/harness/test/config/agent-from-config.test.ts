import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InMemorySession, InvalidInputError, RuntimeContext } from '@x/core';
import type { Issue } from '@x/core/internal';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  agentFromConfig,
  agentJsonSchema,
  CapabilityRegistry,
  HarnessConfigError,
  type PartProviders,
  parseAgentConfig,
} from '../../src/index.js';

const FILE = `
name: coder
system_prompt: You fix bugs.
model: scripted:large
workspace: ./files
session: memory
max_iterations: 7
checkpoint: step
permissions: { mode: explore }
capabilities:
  - greeter
  - ref: slow
    config: { url: "https://\${HOST}/x", token: "\${TOKEN:-none}" }
mcp_servers:
  files: { command: node, env: { API_KEY: "\${KEY}" } }
`;

const environment = { HOST: 'example.test', KEY: 'k-1' };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-config-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

function providers(seen: Record<string, unknown> = {}): PartProviders {
  const note = (name: string) => (config: unknown) => {
    seen[name] = config;
    return { name };
  };
  return {
    model: ({ id, contextWindow }) => {
      seen.model = { id, contextWindow };
      return new ScriptedModel([{ text: 'Done.' }]);
    },
    session: (reference) => {
      seen.session = reference;
      return new InMemorySession();
    },
    registry: new CapabilityRegistry()
      .register('greeter', note('greeter'))
      .register('permissions', note('permissions'))
      .register('slow', async (config) => note('slow')(config))
      .register('mcp', async (config) => note('mcp')(config)),
  };
}

function issuesOf(error: unknown): readonly Issue[] {
  if (InvalidInputError.isInstance(error) || HarnessConfigError.isInstance(error)) return error.issues;
  throw error;
}

const failure = async (value: unknown, parts = providers()) =>
  agentFromConfig(value, parts, { environment, directory }).then(
    () => [],
    (error: unknown) => issuesOf(error),
  );

describe('an agent in a file', () => {
  it('becomes an agent that answers', async () => {
    const seen: Record<string, unknown> = {};
    const builder = await agentFromConfig(parse(FILE), providers(seen), { environment, directory });
    const agent = builder.build();
    expect(agent.name).toBe('coder');
    expect((await agent.call('Go', RuntimeContext.of({ sessionId: 's' }))).text).toBe('Done.');
    expect(seen).toEqual({
      model: { id: 'scripted:large', contextWindow: undefined },
      session: 'memory',
      permissions: { mode: 'explore' },
      greeter: undefined,
      slow: { url: 'https://example.test/x', token: 'none' },
      // As it is: the capability looks variables up itself.
      mcp: { servers: { files: { command: 'node', env: { API_KEY: '${KEY}' } } } },
    });
    await agent.close();
  });

  it('has its settings in snake_case, and 0 means 0', () => {
    const { settings } = parseAgentConfig({
      model: 'm',
      max_retries: 0,
      limits: { tool_ms: 0 },
      on_conflict: 'merge',
    });
    expect(settings).toMatchObject({
      maxRetries: 0,
      limits: { toolMs: 0 },
      onConflict: 'merge',
      name: 'agent',
    });
  });

  it.each(['features', 'mcp_servers'])('refuses %s of thousands of levels', (key) => {
    const deep = Array.from({ length: 20_000 }).reduce<unknown>((a) => ({ a }), 1);
    expect(() => parseAgentConfig({ model: 'm', [key]: deep })).toThrow(
      /^Invalid agent configuration: is nested more than/,
    );
  });

  it('puts permissions outermost', () => {
    const { capabilities } = parseAgentConfig({
      model: 'm',
      capabilities: ['a'],
      permissions: {},
      subagents: [],
    });
    expect(capabilities.map(({ ref }) => ref)).toEqual(['permissions', 'a', 'subagents']);
  });

  it.each([
    [{}, 'model', /^is missing; for example: openai:gpt-5$/],
    [{ model: 'm', maxIterations: 3 }, 'maxIterations', /unknown key/],
    [{ model: 'm', max_iterations: 0 }, 'max_iterations', />=1/],
    [{ model: { id: 'm', window: 1 } }, 'model.window', /unknown key/],
    [{ model: 'm', capabilities: [{ ref: 'greeter', cfg: 1 }] }, 'capabilities[0].cfg', /unknown key/],
    [{ model: 'm', system_prompt: 'Use ${ABSENT}' }, 'system_prompt', /environment variable ABSENT/],
    [
      { model: 'm', capabilities: ['nonsense'] },
      'capabilities[0]',
      /no capability named "nonsense".*greeter/,
    ],
    [{ model: 'm', workspace: { ref: 's3' } }, 'workspace', /does not offer workspaces by name/],
  ])('is refused with the path of what is wrong: %j', async (value, path, message) => {
    const issues = await failure(value);
    expect(issues.find((issue) => issue.path === path)?.message).toMatch(message);
  });

  it('is told everything that is wrong with its parts at once', async () => {
    const parts: PartProviders = {
      ...providers(),
      model: () => {
        throw new Error('no such model');
      },
      registry: new CapabilityRegistry().register('picky', () => {
        throw new InvalidInputError('picky', [{ path: 'limits.max', message: 'must be positive' }]);
      }),
    };
    expect(await failure({ model: 'm', capabilities: ['picky'] }, parts)).toEqual([
      { path: 'model', message: 'no such model' },
      { path: 'capabilities[0].config.limits.max', message: 'must be positive' },
    ]);
  });

  it('never says what a variable holds', async () => {
    const issues = await failure({ model: 'm', max_iterations: '${KEY}' });
    expect(JSON.stringify(issues)).not.toContain('k-1');
    expect(issues[0]?.path).toBe('max_iterations');
  });

  it('keeps what is no reference: $${NAME} and single dollars', () => {
    const { settings } = parseAgentConfig(
      { model: 'm', system_prompt: 'Pay $5 with $${CARD}, ${EMPTY:-nothing}' },
      { environment: { EMPTY: '' } },
    );
    expect(settings.systemPrompt).toBe('Pay $5 with ${CARD}, nothing');
  });
});

describe('the JSON Schema', () => {
  it('has the keys of files, and what capabilities take', () => {
    const schema = agentJsonSchema({ compaction: { type: 'object', $schema: 'x' }, todo_list: undefined });
    expect(schema).toMatchObject({
      additionalProperties: false,
      required: ['model'],
      properties: { max_iterations: { minimum: 1 }, system_prompt: { type: 'string' } },
    });
    expect(JSON.stringify(schema)).toContain('{"ref":{"const":"compaction"},"config":{"type":"object"}}');
    expect(JSON.stringify(schema)).not.toContain('maxIterations');
    expect(schema.properties).toMatchObject({
      features: {
        additionalProperties: false,
        properties: { compaction: { anyOf: [{ type: 'boolean' }, { type: 'object' }] }, todo_list: {} },
      },
    });
  });
});
