// What the scripts here share: where the repository is, and how programs are run.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const environment = {
  ...process.env,
  // `npm run` adds this folder by itself; turbo and publint look for pnpm on PATH.
  PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter),
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
  ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
};

/**
 * Runs a program to its end; never throws.
 *
 * @param options `seconds`: after these it is killed; by default never
 * @returns its exit code (1 when it could not be run or had to be killed) and the end of what it printed
 */
export function run(command, args, { cwd, env = process.env, input = '', seconds = 0 }) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: seconds * 1000,
      shell: process.platform === 'win32',
    });
    let output = '';
    const keep = (text) => {
      output = (output + text).slice(-1_000_000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.once('error', (error) => done({ code: 1, output: `${command}: ${error.message}` }));
    child.once('close', (code, signal) => {
      done({ code: code ?? 1, output: signal === null ? output : `${output}\nended by ${signal}` });
    });
  });
}

/** Runs one of the workspace's tools at the root and keeps what it prints. */
export async function runTool(command, args) {
  const { code, output } = await run(command, args, { cwd: root, env: environment });
  return { passed: code === 0, output };
}

/** Runs a program that prints for itself; whether it went well. */
export function passes(program, parameters, cwd, env = {}) {
  const { status } = spawnSync(program, parameters, {
    cwd,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status === 0;
}

/**
 * Lends a folder of its own in which npm has installed packages that are no dependencies, and removes it.
 *
 * @throws when they cannot be installed
 */
export async function withPackages(packages, use) {
  const folder = mkdtempSync(join(tmpdir(), 'x-packages-'));
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const flags = ['--no-engine-strict', '--no-audit', '--no-fund', '--loglevel=error'];
    if (!passes('npm', ['install', ...flags, ...packages], folder)) {
      throw new Error(`${packages.join(', ')} could not be installed: npm says why above.`);
    }
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Milliseconds as `4.1 s`. */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
