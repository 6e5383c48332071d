// Runs MCP's official conformance suite against the client of `@x/harness/mcp` and a server of `@x/memory/mcp`, and its
// inspector's command line against that server. Both ask for Node 22 and bring 270 packages, so that they are no dependency and
// no part of the tests, which run on Node 20 and without a registry: npm installs them into a folder of its own.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { withPackages } from './workspace.mjs';

const SUITE = '@modelcontextprotocol/conformance@0.1.16';
const INSPECTOR = '@modelcontextprotocol/inspector@0.17.2';
/** The others ask for tools, resources and prompts that only a server made for the suite has. */
const SERVER_SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];
/** What the inspector's command line is asked for, and what its answer holds. */
const INSPECTIONS = [
  [['tools/list'], '"memory_forget"'],
  [
    ['tools/call', '--tool-name', 'memory_save', '--tool-arg', 'content=Alice likes tea'],
    'Saved in MEMORY.md',
  ],
  [['tools/call', '--tool-name', 'memory_get', '--tool-arg', 'path=MEMORY.md'], 'Alice likes tea'],
];
const program = (path) => ['--conditions=@x/source', '--import', 'tsx', path];
const folderOf = (name) => fileURLToPath(new URL(`../packages/${name}`, import.meta.url));
/** Scenarios that were asked for; all without a word. */
const isAsked = (name) =>
  process.argv.length < 3 || process.argv.slice(2).some((word) => name.includes(word));
let folder;

function run(bin, parameters, cwd) {
  const path = join(folder, 'node_modules/@modelcontextprotocol', bin);
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...parameters], {
    cwd,
    encoding: 'utf8',
  });
  return { passed: status === 0, said: `${stdout}${stderr}` };
}

function suite(parameters, cwd) {
  return run('conformance/dist/index.js', parameters, cwd);
}

function report(side, scenario, parameters, cwd) {
  if (isAsked(scenario))
    tell(`${side} ${scenario}`, suite([side, '--scenario', scenario, ...parameters], cwd));
}

function tell(name, { passed, said }) {
  console.log(`${name}: ${passed ? 'ok' : `FAILED\n${said}`}`);
  if (!passed) process.exitCode = 1;
}

let server;
if (Number(process.versions.node.split('.')[0]) < 22) throw new Error('The suite needs Node 22 or newer.');
await withPackages([SUITE, INSPECTOR], async (installed) => {
  folder = installed;
  const [, listed = ''] = suite(['list'], folder).said.split('Client scenarios');
  const client = ['node', ...program('test/children/mcp-conformance-client.ts')].join(' ');
  for (const [, scenario] of listed.matchAll(/^ {2}- (\S+)/gm)) {
    report('client', scenario, ['--command', client], folderOf('harness'));
  }

  server = spawn(
    process.execPath,
    [...program('test/children/mcp-conformance-server.ts'), join(folder, 'memory')],
    {
      cwd: folderOf('memory'),
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const ended = once(server, 'exit').then(() => Promise.reject(new Error('The memory server ended.')));
  const [url] = await Promise.race([once(createInterface(server.stdout), 'line'), ended]);
  ended.catch(() => {});
  for (const scenario of SERVER_SCENARIOS) {
    report('server', scenario, ['--url', url], folder);
  }
  for (const [[method, ...rest], answer] of INSPECTIONS) {
    if (!isAsked(method)) continue;
    const asked = ['--cli', url, '--transport', 'http', '--method', method, ...rest];
    const { passed, said } = run('inspector/cli/build/cli.js', asked, folder);
    tell(`inspector ${method}`, { passed: passed && said.includes(answer), said });
  }
}).finally(() => server?.kill());
