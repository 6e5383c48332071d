import { permissionSuite } from '@x/testkit/suites';
import {
  agentsFiles,
  HarnessAgent,
  permissions,
  planMode,
  shell,
  skills,
  subagents,
  todoList,
  workspaceTools,
} from '../../src/index.js';
import { mcp } from '../../src/mcp/index.js';

permissionSuite({
  name: 'an agent of all parts',
  async open({ model, directory, client, tool, rules }) {
    const server = await mcp({ servers: { hostile: { client } } });
    return HarnessAgent.builder()
      .name('keeper')
      .model(model)
      .workspace(directory)
      .isolation('shared')
      .tools(tool)
      .use(workspaceTools(), shell(), agentsFiles(), skills(), todoList(), planMode(), server)
      .use(subagents([], { timeoutMs: 20_000 }), permissions(rules))
      .build();
  },
});
