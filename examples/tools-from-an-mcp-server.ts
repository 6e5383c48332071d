// The tools of an MCP server, here in this very process; `{ command: 'npx', args: [...] }` and `{ url: 'https://…' }` work alike.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { HarnessAgent, permissions } from '@x/harness';
import { mcp } from '@x/harness/mcp';
import { ScriptedModel } from '@x/testkit';
import { z } from 'zod';

const server = new McpServer({ name: 'library', version: '1.0.0' });
server.registerTool(
  'find_book',
  { description: 'Finds a book', inputSchema: { title: z.string() }, annotations: { readOnlyHint: true } },
  ({ title }) => ({ content: [{ type: 'text', text: `${title}: shelf 7` }] }),
);
server.registerTool(
  'burn_book',
  { description: 'Burns a book', inputSchema: { title: z.string() }, annotations: { destructiveHint: true } },
  () => ({ content: [{ type: 'text', text: 'burnt' }] }),
);

const [near, far] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: 'example', version: '1.0.0' });
await Promise.all([server.connect(far), client.connect(near)]);

const model = new ScriptedModel([
  {
    toolCalls: [
      { name: 'mcp__library__find_book', input: { title: 'Ulysses' } },
      { name: 'mcp__library__burn_book', input: { title: 'Ulysses' } },
    ],
  },
  { text: 'It stands on shelf 7, unburnt.' },
]);
const workspace = mkdtempSync(join(tmpdir(), 'x-example-'));
const agent = HarnessAgent.builder()
  .model(model)
  .workspace(workspace)
  // The server is our own, so what it says of its tools counts: finding only reads, burning does not.
  .use(permissions({ mode: 'explore' }), await mcp({ servers: { library: { client, trusted: true } } }))
  .build();

const reply = await agent.call('Where is Ulysses?');
console.log(model.requests[0]?.tools.map((tool) => tool.name));
console.log(reply.text);

await agent.close();
await client.close();
rmSync(workspace, { recursive: true });
const results = JSON.stringify(model.requests[1]?.messages);
if (!results.includes('shelf 7') || results.includes('burnt"'))
  throw new Error('The book was not found, or was burnt.');
