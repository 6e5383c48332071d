import { LocalWorkspace } from '@x/core/node';
import { memory, sessionHistory } from '../../src/index.js';
import { serveStdio } from '../../src/mcp/index.js';

const [directory = '', userId = ''] = process.argv.slice(2);
const capability = memory({ maintenance: false });
const tools = [capability, sessionHistory()].flatMap((part) => part.tools ?? []);
const server = await serveStdio({
  workspace: new LocalWorkspace(directory),
  tools,
  scope: { userId, agentId: 'coder' },
});
await server.closed;
await capability.close?.();
