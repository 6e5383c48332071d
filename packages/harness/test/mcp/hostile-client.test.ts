import { type AgentEvent, type JsonObject, RuntimeContext, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { type McpClient, mcp } from '../../src/mcp/index.js';
import type { McpResult, McpTool } from '../../src/mcp/mcp-client.js';
import { scratch } from '../support.js';
import { agentWith, connect, run, toolOf } from './support.js';

const object = { type: 'object', properties: {} };

function client(
  tools: readonly McpTool[],
  answer: () => McpResult | Promise<McpResult> = () => ({}),
): McpClient {
  return { listTools: async () => ({ tools }), callTool: async () => answer() };
}

async function warningsOf(capability: Awaited<ReturnType<typeof mcp>>): Promise<readonly string[]> {
  const events: AgentEvent[] = [];
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([{ text: 'ok' }]))
    .workspace(scratch())
    .use(capability)
    .onEvent((event) => events.push(event))
    .build();
  await agent.call('go', RuntimeContext.of({ sessionId: 's' }));
  return events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
}

describe('a client of one’s own', () => {
  it('is used as it is, and not closed', async () => {
    const closed: string[] = [];
    const own = {
      ...client([{ name: 'a', inputSchema: object }]),
      close: async () => void closed.push('own'),
    };
    const capability = await mcp({ servers: { mine: { client: own } } });
    expect(textOf([...(await run(toolOf(capability, 'mcp__mine__a'), {}))])).toBe(
      'The tool returned nothing.',
    );
    await capability.close?.();
    expect(closed).toEqual([]);
  });

  it('is asked for its tools in each call, and has no limit of its own', async () => {
    const tools = [{ name: 'a', inputSchema: object }];
    const timeouts: unknown[] = [];
    const own: McpClient = {
      async listTools(_, options) {
        timeouts.push(options?.timeout);
        return { tools: [...tools] };
      },
      callTool: async (_, __, options) => {
        timeouts.push(options?.timeout);
        tools.push({ name: 'b', inputSchema: object });
        return {};
      },
    };
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'mcp__mine__a', input: {} }] },
      { text: 'ok' },
      { text: 'ok' },
    ]);
    const agent = agentWith(model, await mcp({ servers: { mine: { client: own } } }));
    await agent.call('go');
    await agent.call('again');
    expect(model.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(['mcp__mine__a', 'mcp__mine__b']);
    // The SDK's clients stop after a minute without this.
    expect(new Set(timeouts)).toEqual(new Set([2 ** 31 - 1]));
    await agent.close();
  });

  it.each(['', null])('ends a list of tools with the cursor %j', async (nextCursor) => {
    let pages = 0;
    const own = {
      ...client([]),
      async listTools() {
        pages++;
        return { tools: [{ name: 'a', inputSchema: object }], nextCursor };
      },
    };
    await connect({ mine: { client: own } });
    expect(pages).toBe(1);
  });

  it('whose errors are as long as a book is cut like its results', async () => {
    const callTool = () => Promise.reject(new Error('E'.repeat(500_000)));
    const long = { ...client([{ name: 'a', inputSchema: object }]), callTool };
    const capability = await connect({ long: { client: long } }, { maxResultChars: 1_000 });
    const failure = run(toolOf(capability, 'mcp__long__a'), {}).catch((error: Error) => error.message.length);
    expect(await failure).toBe(1_000);
  });

  it('whose schemas are bad loses these tools alone', async () => {
    const deep = { type: 'object', properties: { x: { description: 'x'.repeat(60_000) } } };
    const odd = { type: 'object', properties: { x: { $ref: 'https://elsewhere/schema.json' } } };
    // Not a pattern of Unicode, but one that servers have.
    const loose = { type: 'object', properties: { x: { pattern: '^[\\w-.]+$' } } };
    const capability = await connect({
      bad: {
        client: client([
          { name: 'fine', inputSchema: object },
          { name: 'none' },
          { name: 'text', inputSchema: 'object' },
          { name: 'array', inputSchema: { type: 'array' } },
          { name: 'huge', inputSchema: deep },
          { name: 'odd', inputSchema: odd },
          { name: 'loose', inputSchema: loose },
          { name: '' },
          null as never,
        ]),
      },
    });
    expect(capability.tools?.map(({ definition }) => definition.name)).toEqual([
      'mcp__bad__fine',
      'mcp__bad__loose',
    ]);
    // What cannot be checked here is left to the server.
    expect(await run(toolOf(capability, 'mcp__bad__loose'), { x: 1 })).toHaveLength(1);
    expect(await warningsOf(capability)).toHaveLength(6);
  });

  it.each<[string, JsonObject]>([
    ['a type that is none', { properties: { a: { type: 'int' } } }],
    ['required among the properties', { properties: { a: {}, required: ['a'] } }],
    ['required that is no list', { required: true }],
    ['a $ref to nothing', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['a $ref to another document', { properties: { a: { $ref: 'other.json' } } }],
    ['a broken pattern', { properties: { a: { type: 'string', pattern: '^[\\w-.]+(?<=x' } } }],
    ['a broken pattern of names', { patternProperties: { '(': {} } }],
    ['no schemas to choose from', { properties: { a: { anyOf: [] } } }],
    ['an exclusive limit of draft 4', { properties: { a: { minimum: 1, exclusiveMinimum: true } } }],
    ['a list for a schema', { properties: { a: { not: [] } } }],
    ['an enum that is no list', { properties: { a: { enum: 'a' } } }],
    ['a fault at any depth', { $defs: { a: { items: [{ allOf: [{ if: { type: [] } }] }] } } }],
  ])('whose schema has %s loses this tool alone, and says why', async (_, schema) => {
    const bad = { name: 'bad', inputSchema: { type: 'object', ...schema } };
    const capability = await connect({ x: { client: client([{ name: 'fine', inputSchema: object }, bad]) } });
    expect(capability.tools?.map(({ definition }) => definition.name)).toEqual(['mcp__x__fine']);
    expect(await warningsOf(capability)).toEqual([
      expect.stringMatching(/"bad" .*is not a valid JSON Schema: ./),
    ]);
  });

  it.each<[string, JsonObject]>([
    [
      'recursion',
      {
        properties: { n: { $ref: '#/$defs/N' } },
        $defs: { N: { properties: { k: { type: 'array', items: { $ref: '#/$defs/N' } } } } },
      },
    ],
    [
      'an anchor and an id',
      {
        $id: 'https://x.example/s',
        properties: { a: { $ref: '#/definitions/b' } },
        definitions: { b: true },
      },
    ],
    ['keywords of its own', { 'x-order': 1, examples: ['a'], default: {}, deprecated: true, $comment: 'c' }],
    ['types in a list', { properties: { a: { type: ['string', 'null'], const: null, format: 'uri' } } }],
    [
      'tuples of both drafts',
      { properties: { a: { prefixItems: [{}], items: false }, b: { items: [{}], additionalItems: {} } } },
    ],
  ])('keeps a tool whose schema has %s', async (_, schema) => {
    const tool = { name: 'fine', inputSchema: { type: 'object', ...schema } };
    const capability = await connect({ x: { client: client([tool]) } });
    expect(await warningsOf(capability)).toEqual([]);
    expect(capability.tools).toHaveLength(1);
  });

  it('with endless pages, too many tools or odd names yields a bounded list', async () => {
    const endless: McpClient = {
      listTools: async (request) => ({
        tools: [{ name: `t${request?.cursor ?? 0}`, inputSchema: object }],
        nextCursor: String(Number(request?.cursor ?? 0) + 1),
      }),
      callTool: async () => ({}),
    };
    const many = Array.from({ length: 300 }, (_, index) => ({ name: `tool/${index}`, inputSchema: object }));
    const alike = [
      { name: 'a.b', inputSchema: object },
      { name: 'a/b', inputSchema: object },
    ];
    const long = [{ name: 'x'.repeat(200), inputSchema: object }];
    const capability = await connect(
      { endless: { client: endless }, many: { client: client([...many, ...alike, ...long]) } },
      { maxTools: 100 },
    );
    const offered = capability.tools?.map(({ definition }) => definition.name) ?? [];
    expect(offered.length).toBeLessThanOrEqual(200);
    expect(new Set(offered).size).toBe(offered.length);
    for (const name of offered) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    const twins = await connect({ x: { client: client([...alike, ...long]) } });
    const names = twins.tools?.map(({ definition }) => definition.name) ?? [];
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('with many small pages has every tool that is wanted, and says what is left out', async () => {
    const paged = (count: number): McpClient => ({
      listTools: async (request, options) => {
        // As the SDK's client does at every request.
        options?.signal?.addEventListener('abort', () => {});
        const at = Number(request?.cursor ?? 0);
        const rest = at + 1 < count ? { nextCursor: String(at + 1) } : {};
        return { tools: [{ name: `t${at}`, inputSchema: object }], ...rest };
      },
      callTool: async () => ({}),
    });
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
    onTestFinished(() => warned.mockRestore());
    const whole = await connect({ x: { client: paged(120) } });
    expect(warned).not.toHaveBeenCalled();
    expect(whole.tools).toHaveLength(120);
    expect(await warningsOf(whole)).toEqual([]);
    const late = await connect({ x: { client: paged(400), tools: ['t39?'] } });
    expect(late.tools).toHaveLength(10);
    const cut = await connect({ x: { client: paged(400) } }, { maxTools: 100 });
    expect(cut.tools).toHaveLength(100);
    expect(await warningsOf(cut)).toEqual([
      expect.stringContaining('more tools than the 100 that are offered'),
    ]);
    const unending = await connect({ x: { client: paged(5_000), tools: ['t1'] } });
    expect(await warningsOf(unending)).toEqual([expect.stringContaining('more tools than the 1 that')]);
  });

  it.each<[string, McpResult, string]>([
    ['no content', { structuredContent: { a: 1 } }, '{"a":1}'],
    [
      'content of no known form',
      { content: [{ type: 'hologram', x: 1 }, null, 7] },
      '{"type":"hologram","x":1}',
    ],
    ['content that is no list', { content: 'plain words' }, 'plain words'],
    ['one part in no list', { content: { type: 'text', text: 'alone' } }, 'alone'],
    [
      'more than it says as a text',
      { content: [{ type: 'text', text: 'Two found.' }], structuredContent: { ids: [1, 2] } },
      '{"ids":[1,2]}',
    ],
    [
      'a file that is too large',
      { content: [{ type: 'image', data: 'A'.repeat(4_000), mimeType: 'image/png' }] },
      'was left out',
    ],
  ])('that answers with %s is understood', async (_, result, text) => {
    const capability = await connect(
      { x: { client: client([{ name: 'a', inputSchema: object }], () => result) } },
      { maxFileBytes: 1_000 },
    );
    expect(textOf([...(await run(toolOf(capability, 'mcp__x__a'), {}))])).toContain(text);
  });

  it('that says its structured content as a text, too, says it once', async () => {
    const result = { content: [{ type: 'text', text: '{ "a": 1 }' }], structuredContent: { a: 1 } };
    const own = client([{ name: 'a', inputSchema: object }], () => result);
    const capability = await connect({ x: { client: own } });
    expect(textOf([...(await run(toolOf(capability, 'mcp__x__a'), {}))])).toBe('{ "a": 1 }');
  });

  it('that never answers is not waited for', async () => {
    const silent = client([{ name: 'a', inputSchema: object }], () => new Promise(() => {}));
    const capability = await connect({ x: { client: silent } }, { callTimeoutMs: 50 });
    await expect(run(toolOf(capability, 'mcp__x__a'), {})).rejects.toMatchObject({
      code: 'mcp_timeout',
      outcome: 'unknown',
    });
  });

  it('that answers nothing leaves open what it did', async () => {
    const mute = client([{ name: 'a', inputSchema: object }], () => undefined as never);
    const capability = await connect({ x: { client: mute } });
    await expect(run(toolOf(capability, 'mcp__x__a'), {})).rejects.toMatchObject({ outcome: 'unknown' });
  });

  it.each([
    [40, 'done'],
    [400, 'did not answer slow within 10000 ms'],
  ])('that reports progress has its time extended, up to a maximum: %d times', async (times, outcome) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const slow: McpClient = {
      listTools: async () => ({ tools: [{ name: 'slow', inputSchema: { type: 'object' } }] }),
      async callTool(_, __, { onprogress } = {}) {
        for (let progress = 0; progress < times; progress++) {
          await new Promise((resolve) => setTimeout(resolve, 90));
          onprogress?.({ progress });
        }
        return { content: [{ type: 'text', text: 'done' }] };
      },
    };
    const capability = await connect({ x: { client: slow } }, { callTimeoutMs: 100, maxCallMs: 10_000 });
    const ran = run(toolOf(capability, 'mcp__x__slow'), {}).then(
      (output) => textOf([...output]),
      (error: Error) => error.message,
    );
    await vi.advanceTimersByTimeAsync(40_000);
    expect(await ran).toContain(outcome);
  });

  it.each([0, 30 * 24 * 3_600_000])('that is slow has its time: %d ms', async (ms) => {
    const answer = { content: [{ type: 'text', text: 'here' }] };
    const slow = client(
      [{ name: 'a', inputSchema: object }],
      () => new Promise((resolve) => setTimeout(resolve, 20, answer)),
    );
    const limits = { callTimeoutMs: ms, connectTimeoutMs: ms };
    const capability = await connect({ x: { client: slow } }, limits);
    expect(textOf([...(await run(toolOf(capability, 'mcp__x__a'), {}))])).toContain('here');
  });
});

describe('configuration', () => {
  it.each([
    [{ servers: { a: {} } }, 'exactly one of command, url and client'],
    [{ servers: { a: { command: 'x', url: 'http://x' } } }, 'exactly one of command, url and client'],
    [{ servers: { a: { url: 'file:///etc/passwd' } } }, 'servers.a.url'],
    [{ servers: { 'a b': { command: 'x' } } }, 'servers'],
    [{ servers: { a: { command: 'x', shell: true } } }, 'servers.a.shell'],
    [{ servers: { a: { command: 'x', env: { K: '${NOT_SET_ANYWHERE}' } } } }, 'NOT_SET_ANYWHERE'],
  ])('%j is refused', async (config, message) => {
    await expect(mcp(config as never)).rejects.toThrow(message);
  });
});
