import { type Model, ModelError } from '@x/core';
import { expect, it } from 'vitest';
import {
  agentFromConfig,
  CapabilityRegistry,
  HarnessConfigError,
  harnessCapabilities,
} from '../../src/index.js';
import { mcpCapability } from '../../src/mcp/index.js';

const registry = new CapabilityRegistry();
for (const [name, { create }] of Object.entries({ ...harnessCapabilities(), mcp: mcpCapability() })) {
  registry.register(name, create);
}

async function issuesOf(config: object): Promise<readonly string[]> {
  const model = ({ id }: { readonly id: string }): Model => {
    if (id !== 'known') throw new ModelError(`there is no model ${id}`, { modelId: id, retryable: false });
    return { id, generate: () => Promise.reject(new Error('not called')) };
  };
  const error: unknown = await agentFromConfig({ model: 'known', ...config }, { model, registry }).catch(
    (thrown: unknown) => thrown,
  );
  if (!HarnessConfigError.isInstance(error)) throw new Error('It was not refused.', { cause: error });
  return error.issues.map(({ path, message }) => `${path}: ${message}`);
}

it('leads to what is wrong where the file has it, whatever else is in the file', async () => {
  const capabilities = [
    'todo_list',
    { ref: 'plan_mode', config: { aproval: true } },
    { ref: 'shell', config: { timeout_ms: 'soon' } },
    'nonsense',
    'budget',
  ];
  const issues = await issuesOf({
    capabilities,
    permissions: { deny: ['read_file', '((('], edit_tools: 'all' },
    subagents: { max_depth: 0 },
    mcp_servers: { wiki: { comand: 'x' } },
    fallback: ['known', 'lost'],
  });
  expect(issues).toEqual([
    'fallback[1]: there is no model lost',
    expect.stringMatching(/^permissions\.edit_tools: /),
    expect.stringMatching(/^capabilities\[1\]\.config\.aproval: unknown key/),
    expect.stringMatching(/^capabilities\[2\]\.config\.timeout_ms: /),
    expect.stringMatching(/^capabilities\[3\]: there is no capability named "nonsense"/),
    expect.stringMatching(/^capabilities\[4\]: needs a limit/),
    expect.stringMatching(/^subagents\.max_depth: /),
    expect.stringMatching(/^mcp_servers\.wiki\.comand: unknown key/),
  ]);
});

it('leads to rules and to servers as well', async () => {
  expect(await issuesOf({ permissions: { deny: ['read_file', '((('] } })).toEqual([
    expect.stringMatching(/^permissions\.deny\[1\]: "\(\(\(" is not a permission rule/),
  ]);
  expect(await issuesOf({ mcp_servers: { wiki: { command: './there-is-no-such-program' } } })).toEqual([
    expect.stringMatching(/^mcp_servers: MCP server "wiki" cannot be reached/),
  ]);
});

it('says where the configuration of a capability is written', async () => {
  const model = () => Promise.reject(new Error('not called'));
  const capabilities = [{ ref: 'budget', strategy: 'auto' }];
  await expect(
    agentFromConfig({ model: 'known', capabilities }, { model, registry } as never),
  ).rejects.toThrow('capabilities[0].strategy: unknown key');
});
