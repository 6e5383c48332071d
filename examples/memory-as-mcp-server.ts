// An agent's memory as an MCP server: any MCP client can search it. Server and client are in one program here.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LocalWorkspace } from '@x/core/node';
import { MemoryService, sessionHistory } from '@x/memory';
import { mcpHttpHandler } from '@x/memory/mcp';

const directory = await mkdtemp(join(tmpdir(), 'memory-server-'));

// The server decides by the token whose memory it is; nothing else in a request can.
const users = new Map([['Bearer token-of-alice', 'alice']]);
const workspace = new LocalWorkspace(join(directory, 'workspace'));
const memory = new MemoryService({ workspace });
const handler = mcpHttpHandler({
  memory,
  tools: [...(sessionHistory().tools ?? [])],
  scopeOf: ({ headers }) => {
    const userId = users.get(headers.authorization ?? '');
    return userId === undefined ? undefined : { userId, agentId: 'coder' };
  },
});
const server = createServer((request, response) => void handler(request, response));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;

// The client is the official one.
const client = new Client({ name: 'example', version: '1.0.0' });
const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), {
  requestInit: { headers: { authorization: 'Bearer token-of-alice' } },
});
await client.connect(transport as Parameters<typeof client.connect>[0]);
const { tools } = await client.listTools();
console.log(tools.map(({ name }) => name).join(', '));
await client.callTool({ name: 'memory_save', arguments: { content: 'Alice prefers PostgreSQL' } });
const found = await client.callTool({ name: 'memory_search', arguments: { query: 'postgresql' } });
console.log(JSON.stringify(found.content));

await client.close();
server.close();
await memory.close();
await rm(directory, { recursive: true });
