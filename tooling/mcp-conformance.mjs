// Runs MCP's official conformance suite against the client of `@x/harness/mcp` and a server of `@x/memory/mcp`, and the command
// line of MCP's inspector against this server. Both need Node 22 and 270 packages. So they are not dependencies, and npm installs
// them into a temporary folder.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { withPackages } from './workspace.mjs';

const SUITE = '@modelcontextprotocol/conformance@0.1.16';
const INSPECTOR = '@modelcontextprotocol/inspector@0.17.2';
/** The other scenarios need tools, resources and prompts that only a server for the suite has. */
const SERVER_SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];
/** Arguments of the inspector, and a text that its output must contain. */
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
/** Tests if the arguments select a scenario. Without arguments, all are selected. */
const isSelected = (name) =>
  process.argv.length < 3 || process.argv.slice(2).some((word) => name.includes(word));
let folder;

function run(bin, parameters, cwd) {
  const path = join(folder, 'node_modules/@modelcontextprotocol', bin);
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...parameters], {
    cwd,
    encoding: 'utf8',
  });
  return { passed: status === 0, output: `${stdout}${stderr}` };
}

function suite(parameters, cwd) {
  return run('conformance/dist/index.js', parameters, cwd);
}

function report(side, scenario, parameters, cwd) {
  if (isSelected(scenario))
    print(`${side} ${scenario}`, suite([side, '--scenario', scenario, ...parameters], cwd));
}

function print(name, { passed, output }) {
  console.log(`${name}: ${passed ? 'ok' : `FAILED\n${output}`}`);
  if (!passed) process.exitCode = 1;
}

let server;
if (Number(process.versions.node.split('.')[0]) < 22) throw new Error('The suite needs Node 22 or newer.');
await withPackages([SUITE, INSPECTOR], async (installed) => {
  folder = installed;
  const [, listed = ''] = suite(['list'], folder).output.split('Client scenarios');
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
    if (!isSelected(method)) continue;
    const asked = ['--cli', url, '--transport', 'http', '--method', method, ...rest];
    const { passed, output } = run('inspector/cli/build/cli.js', asked, folder);
    print(`inspector ${method}`, { passed: passed && output.includes(answer), output });
  }
}).finally(() => server?.kill());
