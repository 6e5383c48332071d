// The server that MCP's conformance suite is run against: keeps its files in the given folder, prints its address.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LocalWorkspace } from '@x/core/node';
import { MemoryService } from '../../src/index.js';
import { mcpHttpHandler } from '../../src/mcp/index.js';

const memory = new MemoryService({ workspace: new LocalWorkspace(process.argv[2] ?? '') });
const handler = mcpHttpHandler({ memory, scopeOf: () => ({ userId: 'alice', agentId: 'coder' }) });
const server = createServer((request, response) => void handler(request, response));
server.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
);
