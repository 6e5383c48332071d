// Runs MCP's official conformance suite against the client of `@x/harness/mcp` and a server of `@x/memory/mcp`. The suite asks
// for Node 22 and brings 122 packages, so that it is no dependency: npm installs it into a folder of its own.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SUITE = '@modelcontextprotocol/conformance@0.1.16';
/** The others ask for tools, resources and prompts that only a server made for the suite has. */
const SERVER_SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
];
const program = (path) => ['--conditions=@x/source', '--import', 'tsx', path];
const folderOf = (name) => fileURLToPath(new URL(`../packages/${name}`, import.meta.url));
/** Scenarios that were asked for; all without a word. */
const isAsked = (name) =>
  process.argv.length < 3 || process.argv.slice(2).some((word) => name.includes(word));
const folder = mkdtempSync(join(tmpdir(), 'x-mcp-conformance-'));

function suite(parameters, cwd) {
  const bin = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...parameters], {
    cwd,
    encoding: 'utf8',
  });
  return { passed: status === 0, said: `${stdout}${stderr}` };
}

function report(side, scenario, parameters, cwd) {
  if (!isAsked(scenario)) return;
  const { passed, said } = suite([side, '--scenario', scenario, ...parameters], cwd);
  console.log(`${side} ${scenario}: ${passed ? 'ok' : `FAILED\n${said}`}`);
  if (!passed) process.exitCode = 1;
}

let server;
try {
  if (Number(process.versions.node.split('.')[0]) < 22) throw new Error('The suite needs Node 22 or newer.');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  const install = ['install', '--no-audit', '--no-fund', '--loglevel=error', SUITE];
  const { status } = spawnSync('npm', install, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${SUITE} could not be installed: npm says why above.`);

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
} finally {
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
}
