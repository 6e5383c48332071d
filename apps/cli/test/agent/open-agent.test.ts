import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { chooseModel } from '../../src/agent/choose-model.js';
import { type OpenAgentOptions, openAgent } from '../../src/agent/open-agent.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-open-agent-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

async function capabilitiesOf(file: string, options: OpenAgentOptions = {}): Promise<readonly string[]> {
  writeFileSync(join(directory, 'agent.yaml'), `model: compatible:fake\n${file}`);
  const environment = { OPENAI_BASE_URL: 'http://127.0.0.1:1', ACTS: 'shell', LAX: 'permissions' };
  const { agent, close } = await openAgent(join(directory, 'agent.yaml'), {
    trust: true,
    project: directory,
    environment,
    ...options,
  });
  await close();
  return agent.capabilities;
}

it.each([
  'capabilities: [shell]',
  "capabilities: ['${ACTS}']",
  "capabilities: [{ ref: '${ACTS}' }]",
  "capabilities: ['${NOBODY:-workspace_tools}']",
  'features: { shell: true }',
  'subagents: {}',
])('asks before it acts where the file says nothing of permissions: %s', async (file) => {
  for (const allowAll of [false, true]) {
    expect(await capabilitiesOf(file, { allowAll })).toContain('permissions');
  }
});

it.each(['capabilities: [todo_list]', 'features: { shell: false }'])(
  'asks nothing of an agent that does not act: %s',
  async (file) => {
    expect(await capabilitiesOf(file)).not.toContain('permissions');
  },
);

it.each(['permissions: {}', 'capabilities: [permissions]', "capabilities: ['${LAX}']"])(
  'keeps the permissions of the file: %s',
  async (permissions) => {
    const file = `${permissions}\nfeatures: { shell: true }`;
    const names = await capabilitiesOf(file);
    expect(names.filter((name) => name === 'permissions')).toHaveLength(1);
  },
);

it('begins every MCP server, those whose names are taken too', async () => {
  const begins = (marker: string) => {
    const write = `require('node:fs').writeFileSync(${JSON.stringify(join(directory, marker))}, '')`;
    return { command: process.execPath, args: ['-e', write], required: false };
  };
  const long = 'a'.repeat(32);
  const names = ['git', 'git', long, long];
  const servers = names.map((name, index) => [name, begins(`editor-${index}`)] as const);
  await capabilitiesOf(`mcp_servers: { git: ${JSON.stringify(begins('file'))} }`, { servers });
  const markers = ['editor-0', 'editor-1', 'editor-2', 'editor-3', 'file'];
  expect(readdirSync(directory).filter((name) => markers.includes(name))).toEqual(markers);
});

it('starts the programs of servers in the folder of the file, or in one that they name from there', async () => {
  const project = mkdtempSync(join(tmpdir(), 'x-project-'));
  onTestFinished(() => rmSync(project, { recursive: true, force: true, maxRetries: 20 }));
  mkdirSync(join(directory, 'tools'), { recursive: true });
  const tells = (name: string, cwd?: string) => {
    const write = `require('node:fs').writeFileSync(${JSON.stringify(join(directory, name))}, process.cwd())`;
    return { command: process.execPath, args: ['-e', write], required: false, ...(cwd && { cwd }) };
  };
  const file = JSON.stringify({ own: tells('own.cwd'), named: tells('named.cwd', 'tools') });
  await capabilitiesOf(`mcp_servers: ${file}`, { project, servers: [['editor', tells('editor.cwd')]] });
  const read = (name: string) => readFileSync(join(directory, name), 'utf8');
  expect(read('own.cwd')).toBe(realpathSync(directory));
  expect(read('named.cwd')).toBe(realpathSync(join(directory, 'tools')));
  expect(read('editor.cwd')).toBe(realpathSync(project));
});

it('takes the path of an index of memory from the agent’s file, not from the folder to work in', async () => {
  const project = mkdtempSync(join(tmpdir(), 'x-project-'));
  onTestFinished(() => rmSync(project, { recursive: true, force: true, maxRetries: 20 }));
  const before = process.cwd();
  process.chdir(project);
  onTestFinished(() => process.chdir(before));
  const file = 'capabilities: [{ ref: memory, config: { index: memory_index.db } }]';
  writeFileSync(join(directory, 'agent.yaml'), `model: compatible:fake\n${file}`);
  const environment = { OPENAI_BASE_URL: 'http://127.0.0.1:1' };
  const { agent, close } = await openAgent(join(directory, 'agent.yaml'), {
    trust: true,
    project,
    environment,
  });
  await agent.eraseUser({ userId: 'alice' });
  await close();
  expect(existsSync(join(directory, 'memory_index.db'))).toBe(true);
  expect(existsSync(join(project, 'memory_index.db'))).toBe(false);
});

it('knows the windows of the providers’ own models, and takes none for granted of a server of one’s own', async () => {
  const environment = { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: 'http://127.0.0.1:1' };
  const windowOf = async (id: string, contextWindow?: number) =>
    (await chooseModel({ id, ...(contextWindow && { contextWindow }) }, environment)).contextWindow;
  expect(await windowOf('openai:gpt-5')).toBe(400_000);
  expect(await windowOf('openai:gpt-5', 9_000)).toBe(9_000);
  expect(await windowOf('compatible:gpt-5')).toBeUndefined();
});
