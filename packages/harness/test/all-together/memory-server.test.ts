import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { RuntimeContext } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { MemoryService, memory, sessionHistory } from '@x/memory';
import { mcpServer } from '@x/memory/mcp';
import { ScriptedModel } from '@x/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

it('a memory over MCP is that of an agent of the same folder', async () => {
  const workspace = new LocalWorkspace(scratch());
  const model = new ScriptedModel([
    { toolCalls: [{ id: 'c-1', name: 'memory_save', input: { content: 'Alice prefers PostgreSQL' } }] },
    { text: 'Noted.' },
    (request) => ({ text: request.system?.includes('Alice lives in Bern') ? 'In Bern.' : 'I do not know.' }),
  ]);
  const agent = HarnessAgent.builder()
    .name('coder')
    .model(model)
    .workspace(workspace)
    .use(memory({ model: null, maintenance: false }))
    .build();
  onTestFinished(() => agent.close());
  const context = (sessionId: string) => RuntimeContext.of({ userId: 'alice', sessionId });
  await agent.call('I prefer PostgreSQL', context('first'));

  const service = new MemoryService({ workspace, maintenance: false });
  onTestFinished(() => service.close());
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = mcpServer({
    memory: service,
    tools: [...(sessionHistory().tools ?? [])],
    scope: { userId: 'alice', agentId: 'coder' },
  });
  await server.connect(far);
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(near);
  onTestFinished(() => client.close());
  const call = async (name: string, input: Record<string, string>) =>
    JSON.stringify((await client.callTool({ name, arguments: input })).content);
  expect(await call('memory_search', { query: 'postgresql' })).toContain('Alice prefers PostgreSQL');
  expect(await call('session_search', { query: 'postgresql' })).toContain('I prefer PostgreSQL');
  expect(await call('memory_save', { content: 'Alice lives in Bern' })).toContain('Saved in MEMORY.md');
  expect((await agent.call('Where do I live?', context('second'))).text).toBe('In Bern.');
});
