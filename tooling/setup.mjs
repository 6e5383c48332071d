// Installs the workspace with nothing but Node and npm on the machine: npx fetches the pnpm named in package.json.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const pnpm = packageManager.split('+')[0];

const env = { ...process.env };
// better-sqlite3 compiles where no prebuilt binary can be fetched; Node ships the headers that needs.
const prefix = dirname(dirname(process.execPath));
if (existsSync(join(prefix, 'include/node/node.h'))) env.npm_config_nodedir ??= prefix;

const first = !existsSync(join(root, 'node_modules'));
console.log(
  first
    ? '[setup] Installing dependencies (the first time SQLite may have to compile: up to two minutes) …'
    : '[setup] Checking dependencies …',
);

// Away from the workspace, or npx would run node_modules/.bin/pnpm, which may have to delete itself.
const { status } = spawnSync(
  'npx',
  [
    '--yes',
    '--prefer-offline',
    pnpm,
    '--dir',
    root,
    'install',
    '--frozen-lockfile',
    ...(first ? [] : ['--silent']),
  ],
  { cwd: tmpdir(), env, stdio: 'inherit', shell: process.platform === 'win32' },
);
if (status !== 0) console.error('[setup] The install failed; the lines above say why.');
process.exit(status ?? 1);
