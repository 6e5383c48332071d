import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { defineTool, type Tool, userMessage, XError } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { bundled } from '../../../../tooling/bundled.js';
import { MemoryService, memory, sessionHistory } from '../../src/index.js';
import { mcpHttpHandler, mcpServer } from '../../src/mcp/index.js';
import {
  logSession,
  type TestWorkspace,
  temporaryDirectory,
  testWorkspace,
} from '../support/test-context.js';

type Transport = Parameters<Client['connect']>[0];

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const child = fileURLToPath(new URL('../children/stdio-server.ts', import.meta.url));

function memoryTools(): Tool[] {
  const capability = memory({ maintenance: false });
  onTestFinished(() => capability.close?.());
  return [capability, sessionHistory()].flatMap((part) => [...(part.tools ?? [])]);
}

async function connect(transport: unknown): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport as Transport);
  onTestFinished(() => client.close());
  return client;
}

async function call(client: Client, name: string, input: Record<string, unknown>) {
  const { content, isError } = await client.callTool({ name, arguments: input });
  const text = (content as { text?: string }[]).map((part) => part.text).join('\n');
  return { text, isError: isError === true };
}

function stdio(directory: string, userId: string): StdioClientTransport {
  return new StdioClientTransport({
    command: process.execPath,
    args: [bundled(child), directory, userId],
    cwd: root,
    stderr: 'inherit',
  });
}

/** A server that knows its users by a token, as another would by a login. */
async function listen(
  workspace: TestWorkspace,
  allowedHosts?: (port: number) => string[],
  memory?: MemoryService,
): Promise<{ readonly url: URL; readonly bearer: (user: string) => StreamableHTTPClientTransport }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const handler = mcpHttpHandler({
    workspace,
    ...(memory === undefined ? { tools: memoryTools() } : { memory }),
    scopeOf: ({ headers }: IncomingMessage) => {
      if (headers.authorization === 'nobody') return {};
      const user = /^Bearer token-of-(\w+)$/.exec(headers.authorization ?? '')?.[1];
      return user === undefined ? undefined : { userId: user, agentId: 'coder' };
    },
    ...(allowedHosts === undefined ? {} : { allowedHosts: allowedHosts(port) }),
  });
  server.on('request', (request, response) => void handler(request, response));
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const bearer = (user: string) =>
    new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { authorization: `Bearer token-of-${user}` } },
    });
  return { url, bearer };
}

describe('over standard input and output', () => {
  it('serves the tools of one user to the official client', async () => {
    const workspace = await testWorkspace();
    await workspace.write('users/bob/agents/coder/MEMORY.md', 'bob has a secret');
    const client = await connect(stdio(workspace.root, 'alice'));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'memory_search',
      'memory_get',
      'memory_save',
      'memory_correct',
      'memory_forget',
      'session_list',
      'session_history',
      'session_search',
    ]);
    expect(tools[0]?.annotations).toMatchObject({ readOnlyHint: true });
    expect((await call(client, 'memory_save', { content: 'Prefers tabs' })).text).toContain('Saved in');
    expect((await call(client, 'memory_search', { query: 'tabs' })).text).toContain('Prefers tabs');
    expect((await call(client, 'memory_search', { query: 'secret' })).text).toBe('Nothing found.');
    const bad = await call(client, 'memory_search', { query: 5 });
    expect(bad).toMatchObject({ isError: true, text: expect.stringContaining('query') });
    await expect(client.callTool({ name: 'rm' })).rejects.toThrow('There is no tool "rm"');
  });
});

describe('a memory', () => {
  it('is offered with instructions, and maintained once something was saved', async () => {
    const workspace = await testWorkspace();
    await workspace.write('users/bob/MEMORY.md', 'bob has a secret');
    const service = new MemoryService({ workspace, maxMemoryTokens: 400 });
    const [left, right] = InMemoryTransport.createLinkedPair();
    const server = mcpServer({ workspace, memory: service, scope: { userId: 'alice' } });
    onTestFinished(async () => {
      await server.close();
      await service.close();
    });
    await server.connect(right as Parameters<typeof server.connect>[0]);
    const client = await connect(left);
    expect(client.getInstructions()).toContain('Read MEMORY.md with memory_get');
    await workspace.append('users/alice/memory/2026-01-01.md', '- Call me Ada\n');
    for (let index = 0; index < 60; index++) {
      const { text } = await call(client, 'memory_save', {
        content: `The port of host ${index} is ${index}`,
      });
      expect(text).toContain('Saved in MEMORY.md');
    }
    const read = async (path = 'MEMORY.md') => (await call(client, 'memory_get', { path })).text;
    expect(await read()).toContain('host 59 ');
    await expect
      .poll(() => read('memory/archive/2026-01-01.md'), { timeout: 10_000 })
      .toContain('Call me Ada');
    for (const path of ['memory/.consolidation_state', '../bob/MEMORY.md', '/etc/passwd'])
      expect(await read(path)).toContain('is not a memory file');
  });
});

describe('over HTTP', () => {
  it('refuses foreign hosts and origins by itself, and tells OAuth clients where to begin', async () => {
    const { url } = await listen(await testWorkspace());
    const ask = (headers: Record<string, string>) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const authorization = { authorization: 'Bearer token-of-alice' };
        const options = { method: 'POST', headers: { ...authorization, ...headers } };
        httpRequest(url, options, resolve).on('error', reject).end('{}');
      });
    expect((await ask({ host: 'evil.example' })).statusCode).toBe(403);
    expect((await ask({ origin: 'http://evil.example' })).statusCode).toBe(403);
    expect((await ask({ host: 'evil.example', origin: 'http://evil.example' })).statusCode).toBe(403);
    expect((await ask({ origin: 'http://localhost:3000' })).statusCode).not.toBe(403);
    expect((await ask({})).statusCode).not.toBe(403);
    const refused = await ask({ authorization: '' });
    expect(refused.statusCode).toBe(401);
    expect(refused.headers['www-authenticate']).toBe('Bearer');
  });

  it('serves each client what is its own', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, { userId: 'bob', agentId: 'coder', sessionId: 's' }, [
      userMessage('the secret of bob'),
    ]);
    const { bearer } = await listen(workspace);
    const [alice, bob] = [await connect(bearer('alice')), await connect(bearer('bob'))];
    await call(alice, 'memory_save', { content: 'Alice likes tea' });
    expect((await call(alice, 'memory_search', { query: 'tea' })).text).toContain('Alice likes tea');
    expect((await call(bob, 'memory_search', { query: 'tea' })).text).toBe('Nothing found.');
    expect((await call(bob, 'session_search', { query: 'secret' })).text).toContain('the secret of bob');
    expect((await call(alice, 'session_search', { query: 'secret' })).text).toBe('Nothing found.');
  });

  it('takes nothing that a client says for whom it is', async () => {
    const workspace = await testWorkspace();
    await workspace.write('users/bob/agents/coder/MEMORY.md', 'secret');
    const { bearer } = await listen(workspace);
    const alice = await connect(bearer('alice'));
    for (const extra of [
      { userId: 'bob' },
      { scope: { userId: 'bob' } },
      { prefix: 'users/bob/agents/coder/' },
    ]) {
      const { text, isError } = await call(alice, 'memory_search', { query: 'secret', ...extra });
      expect({ text, isError }).toMatchObject({
        isError: true,
        text: expect.not.stringContaining('secret\n'),
      });
    }
    const { text } = await call(alice, 'memory_get', { path: '../../../bob/agents/coder/MEMORY.md' });
    expect(text).toContain('is not a memory file');
  });

  it('refuses who is unknown, other methods and other hosts', async () => {
    const workspace = await testWorkspace();
    const { url } = await listen(workspace);
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
    const remembering = await listen(workspace, undefined, new MemoryService({ workspace }));
    const nobody = await fetch(remembering.url, {
      method: 'POST',
      body: '{}',
      headers: { authorization: 'nobody' },
    });
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    const headers = { authorization: 'Bearer token-of-alice' };
    expect((await fetch(url, { headers })).status).toBe(405);
    const { bearer } = await listen(workspace, () => ['memory.example']);
    await expect(connect(bearer('alice'))).rejects.toThrow('is not allowed');
  });
});

describe('mcpServer', () => {
  it('serves any tool: images, files and failures too', async () => {
    const png = 'iVBORw0KGgo=';
    const draw = defineTool({
      name: 'draw',
      description: 'Draws',
      input: z.object({ fail: z.boolean().default(false) }),
      execute({ fail }) {
        if (fail) throw new XError('empty', 'printer-7: out of ink', { clientMessage: 'out of ink' });
        const image = { type: 'base64', data: png } as const;
        return [
          { type: 'text', text: 'Here' },
          { type: 'file', mediaType: 'image/png', source: image },
          {
            type: 'file',
            mediaType: 'application/pdf',
            filename: 'a b.pdf',
            source: { type: 'workspace', path: 'a.pdf' },
          },
          { type: 'file', mediaType: 'text/html', source: { type: 'url', url: 'https://example.com/' } },
        ];
      },
    });
    const workspace = await testWorkspace();
    await workspace.write('a.pdf', 'PDF');
    const [near, far] = InMemoryTransport.createLinkedPair();
    await mcpServer({ workspace, tools: [draw] }).connect(far);
    const client = await connect(near);
    expect((await client.callTool({ name: 'draw' })).content).toEqual([
      { type: 'text', text: 'Here' },
      { type: 'image', data: png, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'file:///a%20b.pdf',
          blob: Buffer.from('PDF').toString('base64'),
          mimeType: 'application/pdf',
        },
      },
      { type: 'resource_link', uri: 'https://example.com/', name: 'text/html', mimeType: 'text/html' },
    ]);
    expect(await call(client, 'draw', { fail: true })).toEqual({ text: 'out of ink', isError: true });
  });

  it('hands out files of the user alone, nothing of the storage or of others', async () => {
    const base = new LocalWorkspace(await temporaryDirectory());
    const paths = {
      own: 'report.txt',
      log: 'users/alice/agents/coder/sessions/default.log.jsonl',
      memory: 'users/bob/agents/coder/MEMORY.md',
      storage: '.x/users/bob/agents/coder/MEMORY.md',
      tree: '.x/files/users/bob/report.txt',
      upward: '../bob/report.txt',
      root: 'root.txt',
    };
    await base.write('.x/files/users/alice/report.txt', 'of alice');
    await base.write(`.x/${paths.log}`, 'said by alice');
    for (const path of [paths.storage, paths.tree, paths.root]) await base.write(path, 'secret of bob');
    const show = defineTool({
      name: 'show',
      description: 'Shows a file',
      input: z.object({ path: z.string() }),
      execute: ({ path }) => [{ type: 'file', mediaType: 'image/png', source: { type: 'workspace', path } }],
    });
    const memory = new MemoryService({ workspace: base, maintenance: false });
    onTestFinished(() => memory.close());
    for (const given of [{ workspace: base }, { memory }]) {
      const [near, far] = InMemoryTransport.createLinkedPair();
      await mcpServer({ ...given, tools: [show], scope: { userId: 'alice', agentId: 'coder' } }).connect(far);
      const client = await connect(near);
      const shown = async (path: string) => {
        const { content } = await client.callTool({ name: 'show', arguments: { path } });
        const [{ data = '', text = '' }] = content as [{ data?: string; text?: string }];
        return `${Buffer.from(data, 'base64').toString()}${text}`;
      };
      expect(await shown(paths.own)).toBe('of alice');
      expect(await shown(paths.log)).toBe('said by alice');
      for (const path of [paths.memory, paths.storage, paths.tree, paths.upward, paths.root]) {
        expect(await shown(path)).not.toContain('secret');
      }
    }
  });

  it('refuses malformed options', async () => {
    const workspace = await testWorkspace();
    const tools = memoryTools();
    expect(() => mcpServer({ workspace, tools: [] })).toThrow('tools');
    expect(() => mcpServer({ workspace, tools: [...tools, ...tools] })).toThrow('distinct names');
    expect(() => mcpServer({ workspace, tools, scope: { user: 'a' } } as never)).toThrow('scope');
    expect(() => mcpHttpHandler({ workspace, tools } as never)).toThrow('scopeOf');
  });
});
