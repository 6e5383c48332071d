import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { textOf } from '@x/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type McpConfig, type McpElicit, mcp } from '../../src/mcp/index.js';
import { connect, run, toolOf } from './support.js';

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function library(): McpServer {
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
  return server;
}

/** Serves MCP by streamable HTTP, a session a connection. */
function streamable(): RequestListener {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known !== undefined) return void (await known.handleRequest(request, response));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await library().connect(transport as Transport);
    await transport.handleRequest(request, response);
  };
}

/** An MCP server that takes tokens of its own authorization server: registration, codes with PKCE, tokens that are renewed. */
async function protectedServer() {
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
      if (valid.has(given)) return serve(request, response);
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

/** Keeps tokens as a program does, and the address that a user is to open. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl = 'http://localhost/callback';
  readonly clientMetadata = {
    client_name: 'x',
    redirect_uris: [this.redirectUrl],
    token_endpoint_auth_method: 'none',
  };
  opened: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = '';
  clientInformation = () => this.#client;
  saveClientInformation(client: OAuthClientInformationMixed) {
    this.#client = client;
  }
  tokens = () => this.#tokens;
  saveTokens(tokens: OAuthTokens) {
    this.#tokens = tokens;
  }
  invalidateCredentials() {
    this.#tokens = undefined;
  }
  redirectToAuthorization(url: URL) {
    this.opened = url;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier = () => this.#verifier;
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
    const { code } = (await (await fetch(authProvider.opened as URL)).json()) as { readonly code: string };
    await auth(authProvider, { serverUrl: server.url, authorizationCode: code });
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
    const { code } = (await (await fetch(authProvider.opened as URL)).json()) as { readonly code: string };
    await auth(authProvider, { serverUrl: server.url, authorizationCode: code });
    const capability = await connect({ web: { url: server.url, authProvider } });
    server.expire();
    server.revoke();
    await expect(run(toolOf(capability, 'mcp__web__find'), {})).rejects.toMatchObject({
      code: 'mcp_unavailable',
      message: expect.stringContaining('waits for a user to authorize'),
    });
  });
});

describe('a server that asks the user', () => {
  const lend = async (elicit?: McpElicit) => {
    const url = `${await listen(streamable())}/mcp`;
    const capability = await connect({ web: { url, ...(elicit === undefined ? {} : { elicit }) } });
    return textOf([...(await run(toolOf(capability, 'mcp__web__lend'), {}))]);
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
});

it('a server of the protocol’s first HTTP is reached by server-sent events', async () => {
  const sessions = new Map<string, SSEServerTransport>();
  const origin = await listen(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname === '/messages') {
      return void (await sessions
        .get(searchParams.get('sessionId') ?? '')
        ?.handlePostMessage(request, response));
    }
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, transport);
    await library().connect(transport);
  });
  const capability = await connect({ old: { url: `${origin}/sse` } });
  expect(textOf([...(await run(toolOf(capability, 'mcp__old__find'), {}))])).toBe('shelf 7');
});

it.each<[McpConfig['servers'][string], string]>([
  [{ command: 'x', authProvider: new Provider() }, 'servers.a.authProvider: needs a url'],
  [{ url: 'http://x', authProvider: {} as never }, 'servers.a.authProvider: must be an OAuthClientProvider'],
  [{ url: 'http://x', elicit: 'yes' as never }, 'servers.a.elicit: must be a function'],
])('refuses what nothing could come of', async (server, message) => {
  await expect(mcp({ servers: { a: server } })).rejects.toThrow(message);
});
