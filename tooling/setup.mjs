// Installs the workspace. Needs only Node and npm: npx fetches the version of pnpm in package.json. With --update, also updates the
// lockfile. Without it, a stale lockfile is an error. Stores a hash of the installed state in node_modules, so that the next
// `npm start` or `npm test` does not install again.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './workspace.mjs';

const memory = join(root, 'node_modules/.setup.json');
const manifests = ['.', 'examples', 'docs', 'tooling/test-support', ...below('packages'), ...below('apps')]
  .map((folder) => join(root, folder, 'package.json'))
  .filter((path) => existsSync(path));
// Native modules work only with one major version of Node.
const platform = `${process.platform}-${process.arch}-${process.versions.modules}`;

const update = process.argv.includes('--update');
const installed = existsSync(memory) ? JSON.parse(readFileSync(memory, 'utf8')) : {};
const current = installed.platform === platform && installed.inputs === hashOfInputs() && isComplete();

if (update || !current) install();

function install() {
  const first = !existsSync(join(root, 'node_modules'));
  const otherPlatform = installed.platform !== undefined && installed.platform !== platform;
  console.error(
    first || otherPlatform
      ? '[setup] Installing dependencies (compiling SQLite may take two minutes) …'
      : '[setup] Updating dependencies …',
  );
  const environment = { ...process.env };
  // If better-sqlite3 finds no prebuilt binary, it compiles, and needs the headers of Node.
  const prefix = dirname(dirname(process.execPath));
  if (existsSync(join(prefix, 'include/node/node.h'))) environment.npm_config_nodedir ??= prefix;

  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const flags = [
    update ? '--no-frozen-lockfile' : '--frozen-lockfile',
    ...(otherPlatform ? ['--force'] : []),
  ];
  const { status, stdout, stderr } = spawnSync(
    'npx',
    ['--yes', '--prefer-offline', packageManager.split('+')[0], '--dir', root, 'install', ...flags],
    {
      // In the workspace, npx would run node_modules/.bin/pnpm, which may delete itself.
      cwd: tmpdir(),
      env: environment,
      // A long install shows its progress on stderr, because stdout is for the output of the next command.
      stdio: first || otherPlatform ? ['ignore', process.stderr, process.stderr] : 'pipe',
      encoding: 'utf8',
      shell: process.platform === 'win32',
    },
  );
  if (status !== 0) {
    console.error([stdout, stderr].filter(Boolean).join('\n'));
    console.error('[setup] The installation failed: see above.');
    process.exit(status ?? 1);
  }
  writeFileSync(memory, JSON.stringify({ platform, inputs: hashOfInputs() }));
}

function below(group) {
  return readdirSync(join(root, group)).map((name) => `${group}/${name}`);
}

function hashOfInputs() {
  const digest = createHash('sha256');
  for (const path of [join(root, 'pnpm-lock.yaml'), join(root, 'pnpm-workspace.yaml'), ...manifests]) {
    digest.update(path).update(readFileSync(path));
  }
  return digest.digest('hex');
}

function isComplete() {
  return manifests.every((path) => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(path, 'utf8'));
    const needsAny = Object.keys({ ...dependencies, ...devDependencies }).length > 0;
    return !needsAny || existsSync(join(dirname(path), 'node_modules'));
  });
}
