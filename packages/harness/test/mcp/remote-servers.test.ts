import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type CallScope, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type McpConfig, type McpElicit, mcp } from '../../src/mcp/index.js';
import { type McpElicitation, openClient } from '../../src/mcp/mcp-client.js';
import { resultsOf, until } from '../capabilities/subagents/support.js';
import { Provider } from './oauth-provider.js';
import { agentWith, connect, run, toolOf } from './support.js';

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function library(answered: string[] = []): McpServer {
  const server = new McpServer({ name: 'library', version: '1.0.0' });
  server.registerTool('find', { description: 'Finds a book' }, () => ({
    content: [{ type: 'text', text: 'shelf 7' }],
  }));
  server.registerTool('lend', { description: 'Lends a book' }, async (extra) => {
    const answer = await server.server.elicitInput(
      {
        message: 'For how long?',
        requestedSchema: {
          type: 'object',
          properties: { weeks: { type: 'integer' }, card: { type: 'string', default: 'blue' } },
          required: ['weeks'],
        },
      },
      { relatedRequestId: extra.requestId },
    );
    return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
  });
  server.registerTool('order', { description: 'Asks once the call was given up' }, async (extra) => {
    answered.push('began');
    await new Promise((resolve) => extra.signal.addEventListener('abort', resolve, { once: true }));
    const question = { message: 'Still?', requestedSchema: { type: 'object', properties: {} } } as const;
    const { action } = await server.server.elicitInput(question, { relatedRequestId: extra.requestId });
    answered.push(action);
    return { content: [] };
  });
  server.registerTool('think', { description: 'Has the model of who asks think' }, async (extra) => {
    const answer = await server.server.createMessage(
      { messages: [{ role: 'user', content: { type: 'text', text: 'Think.' } }], maxTokens: 10 },
      { relatedRequestId: extra.requestId },
    );
    return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
  });
  return server;
}

/** Serves MCP by streamable HTTP, a session a connection. */
function streamable(answered?: string[]) {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void> => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known !== undefined) return void (await known.handleRequest(request, response, body));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await library(answered).connect(transport as Transport);
    await transport.handleRequest(request, response, body);
  };
}

/**
 * An MCP server that takes tokens of its own authorization server: registration, codes with PKCE, tokens that are renewed.
 * `forbid` looks at a request with a token, and says what it lacks.
 */
async function protectedServer(
  forbid: (body: string, request: IncomingMessage) => string | undefined = () => undefined,
) {
  const serve = streamable();
  const asked: string[] = [];
  const valid = new Set<string>();
  const renewals = new Set<string>();
  const codes = new Map<string, string>();
  let origin = '';
  const grant = () => {
    const [access, refresh] = [randomUUID(), randomUUID()];
    valid.add(access);
    renewals.add(refresh);
    return { access_token: access, refresh_token: refresh, token_type: 'Bearer', expires_in: 3_600 };
  };
  const token = async (request: IncomingMessage): Promise<object | undefined> => {
    const form = new URLSearchParams(await text(request));
    asked.push(form.get('grant_type') ?? '');
    if (form.get('grant_type') === 'refresh_token') {
      return renewals.delete(form.get('refresh_token') ?? '') ? grant() : undefined;
    }
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    return codes.get(form.get('code') ?? '') === challenge ? grant() : undefined;
  };
  origin = await listen(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', origin);
    const json = (status: number, body: object, headers = {}) =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    if (pathname === '/mcp') {
      const [, given = ''] = /^Bearer (.*)$/.exec(request.headers.authorization ?? '') ?? [];
      if (valid.has(given)) {
        const body = request.method === 'POST' ? await text(request) : '';
        const lacks = forbid(body, request);
        if (lacks !== undefined) return json(403, {}, { 'www-authenticate': lacks });
        return serve(request, response, body === '' ? undefined : JSON.parse(body));
      }
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return json(
        401,
        { error: 'invalid_token' },
        { 'www-authenticate': `Bearer resource_metadata="${metadata}"` },
      );
    }
    if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (pathname === '/.well-known/oauth-authorization-server') {
      return json(200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      });
    }
    if (pathname === '/register') {
      return json(201, { ...JSON.parse(await text(request)), client_id: 'registered' });
    }
    if (pathname === '/authorize') {
      const code = randomUUID();
      codes.set(code, searchParams.get('code_challenge') ?? '');
      return json(200, { code });
    }
    const tokens = pathname === '/token' ? await token(request) : undefined;
    return tokens === undefined ? json(400, { error: 'invalid_grant' }) : json(200, tokens);
  });
  return { url: `${origin}/mcp`, asked, expire: () => valid.clear(), revoke: () => renewals.clear() };
}

/** Does what a user's browser and the program behind it do. */
async function consent(serverUrl: string, authProvider: Provider): Promise<void> {
  const { code } = (await (await fetch(authProvider.opened as URL)).json()) as { readonly code: string };
  await auth(authProvider, { serverUrl, authorizationCode: code });
}

describe('a server that wants OAuth', () => {
  it('is reached once a user has authorized the program, and its tokens are renewed', async () => {
    const server = await protectedServer();
    const authProvider = new Provider();
    const servers = { web: { url: server.url, authProvider } };
    await expect(mcp({ servers })).rejects.toThrow(
      /waits for a user to authorize.*auth\(authProvider, \{ serverUrl, authorizationCode \}\)/,
    );

    expect(authProvider.opened?.searchParams.get('code_challenge_method')).toBe('S256');
    await consent(server.url, authProvider);
    const capability = await connect(servers);
    const find = toolOf(capability, 'mcp__web__find');
    expect(textOf([...(await run(find, {}))])).toBe('shelf 7');

    server.expire();
    expect(textOf([...(await run(find, {}))])).toBe('shelf 7');
    expect(server.asked).toEqual(['authorization_code', 'refresh_token']);
  });

  it('whose authorization was withdrawn says that it is needed again', async () => {
    const server = await protectedServer();
    const authProvider = new Provider();
    await mcp({ servers: { web: { url: server.url, authProvider } } }).catch(() => {});
    await consent(server.url, authProvider);
    const capability = await connect({ web: { url: server.url, authProvider } });
    server.expire();
    server.revoke();
    await expect(run(toolOf(capability, 'mcp__web__find'), {})).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('waits for a user to authorize'),
    });
  });

  it('is called on the same connection, at once, after a user has authorized the program for more', async () => {
    let isGranted = false;
    let connections = 0;
    const server = await protectedServer((body, request) => {
      if (body.includes('"initialize"')) connections++;
      if (!body.includes('"tools/call"') || isGranted) return undefined;
      const metadata = `http://${request.headers.host}/.well-known/oauth-protected-resource/mcp`;
      return `Bearer error="insufficient_scope", scope="lend", resource_metadata="${metadata}"`;
    });
    const authProvider = new Provider();
    const save = authProvider.saveTokens.bind(authProvider);
    // A token that renews itself is tried before the user is asked.
    authProvider.saveTokens = ({ refresh_token: _, ...tokens }) => save(tokens);
    await mcp({ servers: { web: { url: server.url, authProvider } } }).catch(() => {});
    await consent(server.url, authProvider);
    const find = toolOf(await connect({ web: { url: server.url, authProvider } }), 'mcp__web__find');
    await expect(run(find, {})).rejects.toMatchObject({ code: 'mcp_unauthorized' });
    expect(authProvider.opened?.searchParams.get('scope')).toBe('lend');
    isGranted = true;
    await consent(server.url, authProvider);
    expect(textOf([...(await run(find, {}))])).toBe('shelf 7');
    expect(connections).toBe(1);
  });

  it('of the protocol’s first HTTP says that a user has to authorize the program', async () => {
    const inner = new URL((await protectedServer()).url);
    const url = await listen(async (request, response) => {
      if (request.method === 'POST') return void response.writeHead(405).end();
      const answer = await fetch(new URL(request.url ?? '', inner));
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
    const authProvider = new Provider();
    authProvider.saveClientInformation({ client_id: 'registered' });
    const servers = {
      old: {
        url: `${url}/mcp`,
        authProvider: Object.assign(authProvider, { validateResourceURL: async () => undefined }),
      },
    };
    await expect(mcp({ servers })).rejects.toMatchObject({ code: 'mcp_unauthorized' });
    expect(authProvider.opened?.origin).toBe(inner.origin);
  });
});

describe('a server that asks the user', () => {
  const lend = async (elicit?: McpElicit, tool = 'lend') => {
    const url = `${await listen(streamable())}/mcp`;
    const capability = await connect({ web: { url, ...(elicit === undefined ? {} : { elicit }) } });
    return textOf([...(await run(toolOf(capability, `mcp__web__${tool}`), {}))]);
  };

  it('has its question answered in the middle of the call, with the defaults of its schema', async () => {
    const questions: unknown[] = [];
    const answer = await lend(({ message, requestedSchema, signal }) => {
      questions.push(message, Object.keys(requestedSchema.properties as object), signal.aborted);
      return { action: 'accept', content: { weeks: 2 } };
    });
    expect(questions).toEqual(['For how long?', ['weeks', 'card'], false]);
    expect(JSON.parse(answer)).toEqual({ action: 'accept', content: { weeks: 2, card: 'blue' } });
    expect(JSON.parse(await lend(() => ({ action: 'decline' })))).toEqual({ action: 'decline' });
  });

  it('is told where nobody answers', async () => {
    await expect(lend()).rejects.toThrow('does not support form elicitation');
  });

  it('is asked no more of the user once its call is given up, and gets no later answer', async () => {
    const answered: string[] = [];
    const url = `${await listen(streamable(answered))}/mcp`;
    const questions: McpElicitation[] = [];
    const elicit: McpElicit = (question) => {
      questions.push(question);
      return new Promise(() => {});
    };
    const capability = await connect({ web: { url, elicit } });
    const interrupt = new AbortController();
    const lending = run(toolOf(capability, 'mcp__web__lend'), {}, interrupt.signal);
    await until(() => questions.length === 1);
    expect(questions[0]?.signal.aborted).toBe(false);
    interrupt.abort(new Error('stop'));
    await expect(lending).rejects.toThrow('stop');
    await until(() => questions[0]?.signal.aborted === true);

    const late = new AbortController();
    const ordering = run(toolOf(capability, 'mcp__web__order'), {}, late.signal);
    await until(() => answered.length === 1);
    late.abort(new Error('stop'));
    await expect(ordering).rejects.toThrow('stop');
    await until(() => answered.length + questions.length > 2);
    expect([answered, questions.length]).toEqual([['began', 'cancel'], 1]);
  });

  it('is lent no model', async () => {
    await expect(lend(undefined, 'think')).rejects.toThrow('Method not found');
  });
});

it('a server of the protocol’s first HTTP is reached by server-sent events', async () => {
  const sessions = new Map<string, SSEServerTransport>();
  const streams: ServerResponse[] = [];
  let posted = 0;
  const origin = await listen(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname === '/messages') {
      posted += 1;
      return void (await sessions
        .get(searchParams.get('sessionId') ?? '')
        ?.handlePostMessage(request, response));
    }
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, transport);
    streams.push(response);
    await library().connect(transport);
  });
  const capability = await connect({ old: { url: `${origin}/sse` } });
  const find = toolOf(capability, 'mcp__old__find');
  expect(textOf([...(await run(find, {}))])).toBe('shelf 7');
  const lost = expect(run(toolOf(capability, 'mcp__old__order'), {})).rejects.toMatchObject({
    code: 'mcp_lost',
  });
  await until(() => posted === 5);
  streams[0]?.destroy();
  await lost;
  expect(textOf([...(await run(find, {}))])).toBe('shelf 7');
});

it('a stream of events that never names its endpoint is left when the time to begin is up', async () => {
  const time = new AbortController();
  let left = () => {};
  const isLeft = new Promise<void>((resolve) => {
    left = resolve;
  });
  const url = await listen((request, response) => {
    if (request.method === 'POST') return void response.writeHead(405).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    response.on('close', left);
    time.abort(new Error('The time to begin is up.'));
  });
  const listener = { toolsChanged: () => {}, closed: () => {} };
  openClient({ url }, listener, time.signal).catch(() => {});
  await isLeft;
  await expect(openClient({ url }, listener, time.signal)).rejects.toThrow('The time to begin is up.');
});

describe('a server that was begun anew', () => {
  const done = { result: { content: [{ type: 'text', text: 'done' }] } };
  /** Answers calls in one session. */
  const serve = async (
    refusal: readonly [status: number, said: string],
    answer: () => object = () => done,
  ) => {
    const [status, said] = refusal;
    const server = {
      session: 'first',
      begun: 0,
      ended: [] as unknown[],
      refusesCalls: false,
      isSilent: false,
      tools: ['go'],
      listed: async () => {},
    };
    const url = await listen(async (request, response) => {
      const { id, method, params } = JSON.parse((await text(request)) || '{}');
      const say = (said: object) => {
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': server.session });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
      };
      if (request.method === 'DELETE') server.ended.push(request.headers['mcp-session-id']);
      if (request.method !== 'POST') return void response.writeHead(405).end();
      if (method === 'initialize') {
        server.begun += 1;
        if (server.isSilent) return;
        const serverInfo = { name: 'own', version: '1' };
        const { protocolVersion } = params;
        return say({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
      }
      const isRefused = server.refusesCalls && method === 'tools/call';
      if (isRefused || request.headers['mcp-session-id'] !== server.session)
        return void response.writeHead(status).end(said);
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'tools/list') {
        const tools = server.tools.map((name) => ({ name, inputSchema: { type: 'object' } }));
        await server.listed();
        return say({ result: { tools } });
      }
      say(answer());
    });
    const capability = await connect({ web: { url } });
    return { server, capability, go: () => run(toolOf(capability, 'mcp__web__go'), {}) };
  };

  it.each([
    [404, ''],
    [410, 'Gone'],
    [404, 'Not Found'],
    [404, '{"error":"unknown mcp id"}'],
    // As the README of the SDK has servers answer.
    [400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}'],
  ])('is met anew, once for all calls at a time, whatever its %i says: %j', async (...refusal) => {
    const { server, go } = await serve(refusal);
    expect(textOf([...(await go())])).toBe('done');
    for (const session of ['second', 'third']) {
      server.session = session;
      const all = await Promise.all([go(), go(), go(), go()]);
      expect(all.map((output) => textOf([...output]))).toEqual(['done', 'done', 'done', 'done']);
    }
    expect(server.begun).toBe(3);
  });

  it.each([500, 503])(
    'and refuses with a %d gets a new session after two calls, and neither again',
    async (status) => {
      const { server, go } = await serve([status, 'no such session']);
      expect(textOf([...(await go())])).toBe('done');
      server.session = 'second';
      for (const _ of [1, 2]) await expect(go()).rejects.toMatchObject({ code: 'mcp_tool_failed' });
      expect(textOf([...(await go())])).toBe('done');
      expect(server.begun).toBe(2);
    },
  );

  it('and refuses a call in a session that it knows has the call fail, and is no server that is down', async () => {
    const { server, go } = await serve([400, 'too long']);
    server.refusesCalls = true;
    const failed = { code: 'mcp_tool_failed', message: expect.stringContaining('too long') };
    for (const begun of [2, 3, 4]) {
      await expect(go()).rejects.toMatchObject(failed);
      expect(server.begun).toBe(begun);
    }
    server.refusesCalls = false;
    expect(textOf([...(await go())])).toBe('done');
  });

  it('is told of the end of its session, and is not waited for by an end while it begins', async () => {
    const { server, capability, go } = await serve([404, '']);
    await go();
    server.session = 'second';
    server.isSilent = true;
    const going = go();
    const gone = expect(going).rejects.toMatchObject({ code: 'mcp_unavailable', message: /is closed/ });
    await until(() => server.begun === 2);
    await capability.close?.();
    await gone;
    expect(server.ended).toEqual(['first']);

    const other = await serve([404, '']);
    await other.capability.close?.();
    expect(other.server.ended).toEqual(['first']);
  });

  it('has the answer to the last question for its tools count, also where an earlier one comes later', async () => {
    const { server, capability, go } = await serve([404, '']);
    const scope = { emit: () => {} } as unknown as CallScope;
    const tell = async (session: string, tools: string[]) => {
      Object.assign(server, { session, tools });
      await go();
      return { listed: capability.aroundCall?.(scope, async () => {}) };
    };
    let release = () => {};
    let asked = 0;
    server.listed = () => {
      asked += 1;
      return new Promise((resolve) => {
        release = resolve;
      });
    };
    const slow = await tell('second', ['go', 'old']);
    await until(() => asked === 1);
    server.listed = async () => {};
    await (await tell('third', ['go', 'new'])).listed;
    release();
    await slow.listed;
    expect(capability.tools?.map(({ definition }) => definition.name)).toEqual([
      'mcp__web__go',
      'mcp__web__new',
    ]);
  });

  it('brings its other tools in the next step of the same call', async () => {
    const { server, capability } = await serve([404, '']);
    const go = { toolCalls: [{ name: 'mcp__web__go', input: {} }] };
    const model = new ScriptedModel([
      go,
      { toolCalls: [{ name: 'mcp__web__new', input: {} }] },
      { text: 'end' },
    ]);
    const agent = agentWith(model, capability);
    Object.assign(server, { session: 'second', tools: ['go', 'new'] });
    await agent.call('go');
    expect(resultsOf(model.requests[2]?.messages ?? [], 'mcp__web__new')).toEqual(['done']);
    await agent.close();
  });

  it('is no server that answers with an error of the number of a closed connection', async () => {
    const { server, go } = await serve([404, ''], () => ({
      error: { code: -32_000, message: 'quota of ten used up' },
    }));
    const failed = { code: 'mcp_tool_failed', message: expect.stringContaining('quota of ten used up') };
    await expect(go()).rejects.toMatchObject(failed);
    expect(server.begun).toBe(1);
  });
});

it.each([
  ['empty events', 'text/event-stream', 'data: {}\n\n'.repeat(20_000)],
  ['a body that unpacks to more than it may have', 'application/json', ' '.repeat(40 * 2 ** 20)],
])('an answer of %s ends the call, and others go on meanwhile', async (_, type, body) => {
  const packed = gzipSync(body);
  const url = await listen(async (request, response) => {
    const { id, method } = JSON.parse((await text(request)) || '{}');
    if (request.method === 'GET') return void response.writeHead(405).end();
    if (method === 'tools/call')
      return void response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(packed);
    if (id === undefined) return void response.writeHead(202).end();
    const info = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'a', version: '1' },
    };
    const result =
      method === 'initialize' ? info : { tools: [{ name: 'find', inputSchema: { type: 'object' } }] };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const client = await openClient(
    { url },
    { toolsChanged: () => {}, closed: () => {} },
    new AbortController().signal,
  );
  let turns = 0;
  const others = setInterval(() => turns++, 1);
  await expect(client.callTool({ name: 'find', arguments: {} }, undefined, {})).rejects.toThrow();
  clearInterval(others);
  expect(turns).toBeGreaterThan(5);
  await client.close?.();
});

describe('a stream of events that breaks off in the middle of a call', () => {
  const events = { 'content-type': 'text/event-stream' };
  type Answer = (response: ServerResponse, id?: number) => void;
  const cut: Answer = (response) => response.flushHeaders() ?? setImmediate(() => response.destroy());
  const resumable: Answer = (response) => {
    response.write('retry: 1\nid: here\ndata: \n\n', () => response.destroy());
  };
  const done: Answer = (response, id) => {
    const result = { content: [{ type: 'text', text: 'done' }] };
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
  };

  it.each<[string, Answer, resumed: number | Answer, outcome: string]>([
    ['has the call lost at once', cut, 405, 'mcp_lost'],
    ['and properly, too', (response) => response.end(), 405, 'mcp_lost'],
    ['is resumed', resumable, done, 'done'],
    ['where the server resumes none', resumable, 405, 'mcp_lost'],
    ['where the server fails to resume it', resumable, 500, 'mcp_lost'],
  ])('%s', async (_, answer, resumed, outcome) => {
    let called: number | undefined;
    const url = await listen(async (request, response) => {
      const { id, method, params } = JSON.parse((await text(request)) || '{}');
      const say = (result: object) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      if (request.method === 'GET') {
        if (request.headers['last-event-id'] === undefined) return void response.writeHead(405).end();
        if (typeof resumed === 'number') return void response.writeHead(resumed).end();
        return resumed(response.writeHead(200, events), called);
      }
      if (method === 'initialize') {
        const serverInfo = { name: 'own', version: '1' };
        return say({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
      }
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'tools/list') return say({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] });
      called = id;
      answer(response.writeHead(200, events));
    });
    const capability = await connect({ web: { url } }, { callTimeoutMs: 0 });
    const going = run(toolOf(capability, 'mcp__web__go'), {});
    expect(
      await going.then(
        (output) => textOf([...output]),
        ({ code }) => code,
      ),
    ).toBe(outcome);
  });
});

describe('what a server has beside tools', () => {
  const shelf = async (served: McpServer, config: Partial<McpConfig['servers'][string]> = {}) => {
    const sessions: StreamableHTTPServerTransport[] = [];
    const url = await listen(async (request, response) => {
      const transport =
        sessions[0] ?? new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'the session' });
      if (sessions.push(transport) === 1) await served.connect(transport as Transport);
      await transport.handleRequest(request, response);
    });
    return connect({ web: { url: `${url}/mcp`, ...config } });
  };
  const jsonOf = async (output: ReturnType<typeof run>) => JSON.parse(textOf([...(await output)]));

  it('is read by a tool: its resources by their uris', async () => {
    const server = new McpServer({ name: 'archive', version: '1.0.0' });
    server.registerResource('rules', 'book://rules', { mimeType: 'text/plain' }, ({ href }) => ({
      contents: [{ uri: href, text: 'Be quiet.' }],
    }));
    server.registerResource(
      'page',
      new ResourceTemplate('book://page/{n}', { list: undefined }),
      {},
      ({ href }) => ({
        contents: [{ uri: href, blob: 'AAAA', mimeType: 'image/png' }],
      }),
    );
    const capability = await shelf(server);
    expect(capability.tools?.map(({ definition }) => definition.name)).toEqual(['mcp__web__resources_read']);
    const resources = toolOf(capability, 'mcp__web__resources_read');
    expect(resources.readOnly).toBe(false);
    expect(await jsonOf(run(resources, {}))).toMatchObject({
      resources: [{ uri: 'book://rules' }],
      resourceTemplates: [{ uriTemplate: 'book://page/{n}' }],
    });
    expect(textOf([...(await run(resources, { uri: 'book://rules' }))])).toBe('[book://rules]\nBe quiet.');
    expect(await run(resources, { uri: 'book://page/1' })).toMatchObject([
      { type: 'file', mediaType: 'image/png', filename: 'book://page/1' },
    ]);
    await expect(run(resources, { uri: 'book://none' })).rejects.toThrow('book://none not found');
  });

  it('names the next page of the resources alone, which a cursor of the templates is none of', async () => {
    const server = new McpServer({ name: 'archive', version: '1.0.0' });
    server.registerResource('rules', 'book://rules', {}, ({ href }) => ({
      contents: [{ uri: href, text: '' }],
    }));
    server.server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [{ name: 'page', uriTemplate: 'book://page/{n}' }],
      nextCursor: 'of the templates',
    }));
    const resources = toolOf(await shelf(server), 'mcp__web__resources_read');
    const listed = await jsonOf(run(resources, {}));
    expect(Object.keys(listed)).toEqual(['resourceTemplates', 'resources']);
    // A list that never ends is cut.
    expect(listed.resourceTemplates).toHaveLength(50);
  });

  it.each([null, ''])('ends its lists with the cursor %j', async (nextCursor) => {
    const server = new McpServer({ name: 'archive', version: '1.0.0' });
    server.registerTool('look', {}, () => ({ content: [] }));
    server.registerResource('rules', 'book://rules', {}, ({ href }) => ({
      contents: [{ uri: href, text: '' }],
    }));
    let lists = 0;
    const tools = [{ name: 'look', inputSchema: { type: 'object' as const } }];
    server.server.setRequestHandler(ListToolsRequestSchema, () => {
      lists++;
      return { tools, nextCursor } as never;
    });
    const resourceTemplates = [{ name: 'page', uriTemplate: 'book://page/{n}' }];
    server.server.setRequestHandler(ListResourceTemplatesRequestSchema, () => {
      return { resourceTemplates, nextCursor } as never;
    });
    const capability = await shelf(server);
    expect(toolOf(capability, 'mcp__web__look')).toBeDefined();
    expect(lists).toBe(1);
    const resources = toolOf(capability, 'mcp__web__resources_read');
    expect(await jsonOf(run(resources, {}))).toMatchObject({ resourceTemplates });
  });

  it('gives the templates of all pages', async () => {
    const server = new McpServer({ name: 'archive', version: '1.0.0' });
    server.registerResource('rules', 'book://rules', {}, ({ href }) => ({
      contents: [{ uri: href, text: '' }],
    }));
    const template = (n: number) => ({ name: `t${n}`, uriTemplate: `book://${n}/{page}` });
    server.server.setRequestHandler(ListResourceTemplatesRequestSchema, ({ params }) => {
      const page = Number(params?.cursor ?? 0);
      return { resourceTemplates: [template(page)], ...(page < 2 ? { nextCursor: String(page + 1) } : {}) };
    });
    const resources = toolOf(await shelf(server), 'mcp__web__resources_read');
    expect((await jsonOf(run(resources, {}))).resourceTemplates).toEqual([0, 1, 2].map(template));
  });

  it.each([true, false])(
    'is read without a question only where its server is trusted: %s',
    async (trusted) => {
      const server = new McpServer({ name: 'archive', version: '1.0.0' });
      server.registerResource('rules', 'book://rules', {}, ({ href }) => ({
        contents: [{ uri: href, text: '' }],
      }));
      const annotations = { readOnlyHint: true };
      server.registerTool('look', { annotations }, () => ({ content: [{ type: 'text', text: '' }] }));
      const { tools = [] } = await shelf(server, { trusted });
      expect(tools.map(({ definition, readOnly }) => [definition.name, readOnly])).toEqual([
        ['mcp__web__look', trusted],
        ['mcp__web__resources_read', trusted],
      ]);
    },
  );

  it('leaves a tool of the same name to the server, and follows the patterns of the tools to offer', async () => {
    const make = () => {
      const server = new McpServer({ name: 'archive', version: '1.0.0' });
      server.registerTool('resources/read', {}, () => ({ content: [{ type: 'text', text: 'its own' }] }));
      server.registerResource('rules', 'book://rules', {}, ({ href }) => ({
        contents: [{ uri: href, text: 'Be quiet.' }],
      }));
      return server;
    };
    const capability = await shelf(make());
    expect(capability.tools).toHaveLength(1);
    expect(textOf([...(await run(toolOf(capability, 'mcp__web__resources_read'), {}))])).toBe('its own');
    expect((await shelf(make(), { tools: ['other/*'] })).tools).toEqual([]);
  });

  it('brings a tool in the middle of a call, for the next step of it', async () => {
    const server = new McpServer({ name: 'vault', version: '1.0.0' });
    server.registerTool('login', {}, () => {
      server.registerTool('secret', {}, () => ({ content: [{ type: 'text', text: 'treasure' }] }));
      return { content: [{ type: 'text', text: 'in' }] };
    });
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'mcp__web__login', input: {} }] },
      { toolCalls: [{ name: 'mcp__web__secret', input: {} }] },
      { text: 'end' },
    ]);
    const agent = agentWith(model, await shelf(server));
    await agent.call('go');
    expect(JSON.stringify(model.requests[2]?.messages)).toContain('treasure');
    await agent.close();
  });

  it('is asked once a step for its tools if it announces a change whenever it lists them', async () => {
    const server = new McpServer({ name: 'restless', version: '1.0.0' });
    const content = [{ type: 'text', text: 'seen' }] as const;
    server.registerTool('look', {}, async () => {
      await setTimeout(200);
      return { content: [...content] };
    });
    let lists = 0;
    server.server.setRequestHandler(ListToolsRequestSchema, async () => {
      lists++;
      await server.server.sendToolListChanged();
      return { tools: [{ name: 'look', inputSchema: { type: 'object' as const } }] };
    });
    const look = { toolCalls: [{ name: 'mcp__web__look', input: {} }] };
    const agent = agentWith(new ScriptedModel([look, look, { text: 'end' }]), await shelf(server));
    expect((await agent.call('go')).text).toBe('end');
    // When it connects, when the call begins, and after each tool.
    expect(lists).toBeLessThanOrEqual(4);
    await agent.close();
  });

  it('shows how far a call is', async () => {
    const server = new McpServer({ name: 'slow', version: '1.0.0' });
    server.registerTool('sort', {}, async ({ _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken ?? 'none';
      const tell = (progress: number, more: object) =>
        sendNotification({ method: 'notifications/progress', params: { progressToken, progress, ...more } });
      await tell(1, { total: 2, message: 'by author' });
      await tell(2, {});
      return { content: [{ type: 'text', text: 'sorted' }] };
    });
    const updates: unknown[] = [];
    const sort = toolOf(await shelf(server), 'mcp__web__sort');
    await run(sort, {}, undefined, (output) => updates.push(output));
    expect(updates).toEqual([[{ type: 'text', text: '1/2 by author' }], [{ type: 'text', text: '2' }]]);
  });
});

it.each<[McpConfig['servers'][string], string]>([
  [{ command: 'x', authProvider: new Provider() }, 'servers.a.authProvider: needs a url'],
  [{ url: 'http://x', authProvider: {} as never }, 'servers.a.authProvider: must be an OAuthClientProvider'],
  [{ url: 'http://x', elicit: 'yes' as never }, 'servers.a.elicit: must be a function'],
])('refuses what nothing could come of', async (server, message) => {
  await expect(mcp({ servers: { a: server } })).rejects.toThrow(message);
});
