// Functions that the scripts of this folder share: they find the repository, and run programs.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const environment = {
  ...process.env,
  // `npm run` adds this folder itself. Turbo and publint search PATH for pnpm.
  PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter),
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
  ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
};

/**
 * Runs a program. Never throws.
 *
 * @param options `seconds`: the time after which the program is killed. Default: no limit.
 * @returns The exit code, and the end of the output. The code is 1 if the program could not be started or was killed.
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

/** Runs a tool of the workspace in the root folder, and returns its output. */
export async function runTool(command, args) {
  const { code, output } = await run(command, args, { cwd: root, env: environment });
  return { passed: code === 0, output };
}

/** Runs a program that prints to this terminal. Returns whether it exited with 0. */
export function passes(program, parameters, cwd, env = {}) {
  const { status } = spawnSync(program, parameters, {
    cwd,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status === 0;
}

/**
 * Installs packages into a temporary folder, passes the folder to `use`, and removes it afterwards.
 *
 * @throws If the packages cannot be installed.
 */
export async function withPackages(packages, use) {
  const folder = mkdtempSync(join(tmpdir(), 'x-packages-'));
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const flags = ['--no-engine-strict', '--no-audit', '--no-fund', '--loglevel=error'];
    if (!passes('npm', ['install', ...flags, ...packages], folder)) {
      throw new Error(`${packages.join(', ')} could not be installed: see the output of npm above.`);
    }
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Formats milliseconds as `4.1 s`. */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
