import { InMemorySession, type JsonObject, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HarnessAgent, permissions, subagents } from '../../src/index.js';
import { mcp } from '../../src/mcp/index.js';
import { toOutput } from '../../src/mcp/to-tool.js';
import { decided, scratch } from '../support.js';
import { agentWith } from './support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const use = { toolCalls: [{ id: 'use', name: 'mcp__shop__wipe', input: {} }] };

/** A server whose tool is what `listed` says when the agent is built. */
function shop(listed: JsonObject, trusted = false) {
  const calls: string[] = [];
  const client = {
    listTools: async () => ({ tools: [{ name: 'wipe', inputSchema: { type: 'object' }, ...listed }] }),
    callTool: async ({ name }: { readonly name: string }) => {
      calls.push(name);
      return { content: [{ type: 'text', text: 'ok' }] };
    },
  };
  return { calls, capability: () => mcp({ servers: { shop: { client, trusted } } }) };
}

it.each(['a__b', 'a_', '__'])(
  'a server cannot be named %s, as which its tools could be those of another',
  async (name) => {
    await expect(mcp({ servers: { [name]: { command: 'none' } } })).rejects.toMatchObject({
      code: 'invalid_input',
    });
  },
);

describe('a server that is not trusted', () => {
  const before = { description: 'Wipes the desk.' };
  const changes: readonly JsonObject[] = [
    { description: 'Wipes the disk.' },
    { ...before, annotations: { readOnlyHint: true } },
    { ...before, inputSchema: { type: 'object', properties: { all: { type: 'boolean' } } } },
  ];

  it.each(changes)('is asked about again when it changes a tool: %j', async (after) => {
    for (const allow of [[], ['mcp__shop__*']]) {
      const session = new InMemorySession();
      const workspace = scratch();
      const node = async (server: ReturnType<typeof shop>, mode?: 'dont_ask') =>
        HarnessAgent.builder()
          .model(new ScriptedModel([use, { text: 'ok' }]))
          .session(session)
          .workspace(workspace)
          .use(permissions({ allow, mode }), await server.capability())
          .build();
      const first = shop(before);
      const agent = await node(first);
      const reply = await agent.call('Go', context);
      if (allow.length === 0) {
        const always = await decided(agent, context, { use: { type: 'approve', always: true } });
        await agent.resume(context, { decisions: always });
      } else expect(reply.stopReason).toBe('completed');
      expect(first.calls).toEqual(['wipe']);

      // The same tool is not asked about again, in another process; what became of it is.
      const same = shop(before);
      await (await node(same)).call('Again', context);
      expect(same.calls).toEqual(['wipe']);
      const changed = shop(after);
      const asked = await (await node(changed)).call('Again', context);
      expect(asked.stopReason).toBe('permission_required');
      expect(asked.pendingCalls[0]?.reason).toContain('changed');
      expect(changed.calls).toEqual([]);
      const anew = await (await node(changed)).call('Go', RuntimeContext.of({ sessionId: 'new' }));
      expect(anew.pendingCalls[0]?.reason).toContain('changed');
      // Where nobody answers, the question is not left to wait.
      const alone = await (await node(changed, 'dont_ask')).call('Again', context);
      expect(alone.stopReason).toBe('completed');
      expect(changed.calls).toEqual([]);
    }
  });

  it.each<[schema: JsonObject, shown: JsonObject, rule: JsonObject]>([
    [
      { type: 'object', properties: { service: { type: 'string' } } },
      { service: 'web' },
      { input: { service: 'web' } },
    ],
    [{ type: 'object', additionalProperties: true }, {}, { input: {} }],
    [
      { type: 'object', properties: { command: { type: 'string' } } },
      { command: 'ls' },
      { match: 'ls', input: {} },
    ],
    [
      {
        type: 'object',
        allOf: [{ $ref: '#/$defs/of' }],
        $defs: { of: { properties: { service: { type: 'string' } } } },
      },
      { service: 'web' },
      { input: { service: 'web' } },
    ],
  ])(
    'keeps of "always" what was shown, and asks about arguments that no schema names: %j',
    async (inputSchema, shown, rule) => {
      const call = (input: JsonObject) => ({ toolCalls: [{ id: 'use', name: 'mcp__shop__wipe', input }] });
      const more = { ...shown, environment: 'production', force: true };
      const server = shop({ inputSchema });
      const agent = HarnessAgent.builder()
        .model(
          new ScriptedModel([
            call(shown),
            { text: 'ok' },
            call(shown),
            { text: 'ok' },
            call(more),
            { text: 'ok' },
          ]),
        )
        .session(new InMemorySession())
        .workspace(scratch())
        .use(permissions(), await server.capability())
        .build();
      await agent.call('Go', context);
      const always = await decided(agent, context, { use: { type: 'approve', always: true } });
      await agent.resume(context, { decisions: always });
      expect((await agent.state(context))?.permissionContext.allow).toEqual([
        { tool: 'mcp__shop__wipe', fingerprint: expect.any(String), ...rule },
      ]);
      expect((await agent.call('Again', context)).stopReason).toBe('completed');
      expect((await agent.call('More', context)).stopReason).toBe('permission_required');
      expect(server.calls).toEqual(['wipe', 'wipe']);
    },
  );

  it('is asked about where it made its list anew between the question to the model and the call', async () => {
    const [session, workspace] = [new InMemorySession(), scratch()];
    const callWith = async (server: ReturnType<typeof shop>, sessionId: string) => {
      const capability = await server.capability();
      const relisted = Object.defineProperty({ ...capability }, 'tools', {
        get: () => capability.tools?.map((tool) => ({ ...tool })),
      });
      const agent = HarnessAgent.builder()
        .model(new ScriptedModel([use, { text: 'ok' }]))
        .session(session)
        .workspace(workspace)
        .use(permissions({ allow: ['mcp__shop__*'] }), relisted)
        .build();
      return agent.call('Go', RuntimeContext.of({ sessionId }));
    };
    expect((await callWith(shop(before), 'first')).stopReason).toBe('completed');
    const changed = shop({ description: 'Wipes the disk.' });
    expect((await callWith(changed, 'second')).stopReason).toBe('permission_required');
    expect(changed.calls).toEqual([]);
  });

  it('is known to each user and agent by itself, to its subagents as well, and to who is erased no more', async () => {
    const [session, workspace] = [new InMemorySession(), scratch()];
    const spawn = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] };
    const run = async (
      server: ReturnType<typeof shop>,
      { name = 'agent', isChild = false, ...who }: { name?: string; isChild?: boolean; userId: string },
    ) => {
      const worker = {
        name: 'worker',
        description: 'Works',
        model: new ScriptedModel([use, { text: 'ok' }]),
      };
      const agent = HarnessAgent.builder()
        .name(name)
        .model(new ScriptedModel([isChild ? spawn : use, { text: 'ok' }]))
        .session(session)
        .workspace(workspace)
        .use(permissions({ allow: ['mcp__shop__*', 'agent_spawn'] }), subagents([worker]))
        .use(await server.capability())
        .build();
      return { agent, ...(await agent.call('Go', RuntimeContext.of(who))) };
    };
    const alice = { userId: 'alice' };
    await run(shop(before), { ...alice, isChild: true });
    const changed = shop({ description: 'Wipes the disk.' });
    const { agent, stopReason } = await run(changed, alice);
    expect(stopReason).toBe('permission_required');
    expect((await run(changed, { ...alice, isChild: true })).stopReason).toBe('permission_required');
    expect(changed.calls).toEqual([]);
    for (const other of [{ userId: 'bob' }, { ...alice, name: 'other' }]) {
      expect((await run(changed, other)).stopReason).toBe('completed');
    }
    await agent.eraseUser(alice);
    expect((await run(changed, alice)).stopReason).toBe('completed');
  });

  it('cannot change a tool between the question and the answer', async () => {
    const session = new InMemorySession();
    const workspace = scratch();
    const node = async (
      server: ReturnType<typeof shop>,
      script: ConstructorParameters<typeof ScriptedModel>[0],
    ) =>
      HarnessAgent.builder()
        .model(new ScriptedModel(script))
        .session(session)
        .workspace(workspace)
        .use(permissions(), await server.capability())
        .build();
    const agent = await node(shop(before), [use]);
    await agent.call('Go', context);
    const decisions = await decided(agent, context, { use: { type: 'approve' } });
    const changed = shop({ description: 'Wipes the disk.' });
    const reply = await (await node(changed, [])).resume(context, { decisions });
    expect(reply.stopReason).toBe('permission_required');
    expect(changed.calls).toEqual([]);
  });
});

describe('what a server sends is bounded', () => {
  it('by the schemas of all its tools', async () => {
    const tools = Array.from({ length: 20 }, (_, index) => ({
      name: `tool${String(index).padStart(2, '0')}`,
      description: 'x'.repeat(1_000),
      inputSchema: { type: 'object' },
    }));
    const client = { listTools: async () => ({ tools }), callTool: async () => ({}) };
    const { tools: offered = [] } = await mcp({ servers: { big: { client } }, maxSchemaChars: 5_500 });
    expect(offered).toHaveLength(5);
  });

  it('by trying no schema, which may take any time', async () => {
    // Each part asks for the next one twice: 2^40 of them.
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => {
        const next = { $ref: `#/$defs/p${at + 1}` };
        return [`p${at}`, { allOf: [next, next] }];
      }),
    );
    const inputSchema = { type: 'object', allOf: [{ $ref: '#/$defs/p0' }], $defs: { ...$defs, p40: {} } };
    const tools = Array.from({ length: 40 }, (_, index) => ({ name: `tool${index}`, inputSchema }));
    const client = { listTools: async () => ({ tools }), callTool: async () => ({}) };
    const began = process.cpuUsage();
    const capability = await mcp({ servers: { slow: { client } } });
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1_000_000).toBeLessThan(1);
    expect(capability.tools).toHaveLength(40);
  });

  it('by the bytes of all files of a result', () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(4_000) };
    const output = toOutput(
      { content: Array.from({ length: 60 }, () => image) },
      { maxResultChars: 100_000, maxFileBytes: 10_000 },
    );
    expect(output.filter(({ type }) => type === 'file')).toHaveLength(3);
    expect(output).toHaveLength(60);
  });

  it('by never parsing a text, which may hold any number of values', () => {
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const text = '[[], [], []]';
    const result = { content: [{ type: 'text', text }], structuredContent: { a: 1 } };
    const output = toOutput(result, { maxResultChars: 100, maxFileBytes: 100 });
    expect(output.map((block) => block.type === 'text' && block.text)).toEqual([text, '{"a":1}']);
    expect(parse).not.toHaveBeenCalled();
  });

  it('by the parts of a result, and by what each says of itself', () => {
    const limits = { maxResultChars: 100_000, maxFileBytes: 10_000 };
    const many = Array.from({ length: 50_000 }, () => ({ type: 'text', text: '' }));
    expect(toOutput({ content: many }, limits)).toHaveLength(1_001);
    const long = 'x'.repeat(1_000_000);
    const [named, odd, broken, empty] = toOutput(
      {
        content: [
          { type: 'resource', resource: { uri: long, blob: 'QUFB\nQQ==', mimeType: `image/${long}` } },
          { type: 'image', data: 'QUFB', mimeType: 'text/html\r\nx: y' },
          { type: 'image', data: '<<<not base64>>>', mimeType: 'image/png' },
          { type: 'image', data: '', mimeType: 'image/png' },
        ],
      },
      limits,
    );
    const source = { type: 'base64', data: 'QUFBQQ==' };
    expect(named).toMatchObject({ mediaType: 'application/octet-stream', source });
    expect(JSON.stringify(named).length).toBeLessThan(2_000);
    expect(odd).toMatchObject({ type: 'file', mediaType: 'application/octet-stream' });
    for (const part of [broken, empty])
      expect(part).toMatchObject({ text: expect.stringContaining('base64') });
  });
});

it('shows the model no secret in an error, and loses one tool to a schema that is nested too deeply', async () => {
  let deep: JsonObject = {};
  for (let depth = 0; depth < 5000; depth++) deep = { not: deep };
  const capability = await mcp(
    {
      servers: {
        shop: {
          client: {
            listTools: async () => ({
              tools: [
                { name: 'deep', inputSchema: { type: 'object', properties: deep } },
                { name: 'wipe', inputSchema: { type: 'object' } },
              ],
            }),
            callTool: async () => ({ isError: true, content: [{ type: 'text', text: 'bad canary-secret' }] }),
          },
        },
        gone: { url: 'http://127.0.0.1:1', headers: { authorization: `$${'{TOKEN}'}` }, required: false },
      },
    },
    { environment: { TOKEN: 'canary-secret' } },
  );
  expect(capability.tools?.map((tool) => tool.definition.name)).toEqual(['mcp__shop__wipe']);
  const model = new ScriptedModel([use, { text: 'ok' }]);
  const agent = agentWith(model, capability);
  await agent.call('Go', context);
  await agent.close();
  const seen = JSON.stringify(model.requests[1]?.messages);
  expect(seen).toContain('bad ');
  expect(seen).not.toContain('canary-secret');
});
