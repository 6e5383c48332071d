// Installs the workspace with nothing but Node and npm on the machine: npx fetches the pnpm named in package.json.
// What it installed last time it remembers in node_modules, so that the next `npm start` or `npm test` loses no time.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './workspace.mjs';

const remembered = join(root, 'node_modules/.setup.json');

const manifests = ['.', 'examples', ...below('packages'), ...below('apps')]
  .map((folder) => join(root, folder, 'package.json'))
  .filter((path) => existsSync(path));

const wanted = {
  // Native modules fit one line of Node only.
  abi: `${process.platform}-${process.arch}-${process.versions.modules}`,
  inputs: hash([join(root, 'pnpm-lock.yaml'), join(root, 'pnpm-workspace.yaml'), ...manifests]),
};
const installed = existsSync(remembered) ? JSON.parse(readFileSync(remembered, 'utf8')) : {};
const complete = manifests.every((path) => existsSync(join(dirname(path), 'node_modules')));

if (!complete || installed.abi !== wanted.abi || installed.inputs !== wanted.inputs) install();

function install() {
  const first = !existsSync(join(root, 'node_modules'));
  const otherNode = installed.abi !== undefined && installed.abi !== wanted.abi;
  console.error(
    first || otherNode
      ? '[setup] Installing dependencies (the first time SQLite may have to compile: up to two minutes) …'
      : '[setup] Updating dependencies …',
  );
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const environment = { ...process.env };
  // better-sqlite3 compiles where no prebuilt binary can be fetched; Node ships the headers that needs.
  const prefix = dirname(dirname(process.execPath));
  if (existsSync(join(prefix, 'include/node/node.h'))) environment.npm_config_nodedir ??= prefix;

  const npx = ['--yes', '--prefer-offline', packageManager.split('+')[0]];
  const flags = ['--frozen-lockfile', ...(first ? [] : ['--silent']), ...(otherNode ? ['--force'] : [])];
  const { status } = spawnSync('npx', [...npx, '--dir', root, 'install', ...flags], {
    // Away from the workspace, or npx would run node_modules/.bin/pnpm, which may have to delete itself.
    cwd: tmpdir(),
    env: environment,
    // Its progress is no output of ours.
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    console.error('[setup] The install failed; the lines above say why.');
    process.exit(status ?? 1);
  }
  writeFileSync(remembered, JSON.stringify(wanted));
}

function below(group) {
  return readdirSync(join(root, group)).map((name) => `${group}/${name}`);
}

function hash(paths) {
  const digest = createHash('sha256');
  for (const path of paths) digest.update(path).update(readFileSync(path));
  return digest.digest('hex');
}
