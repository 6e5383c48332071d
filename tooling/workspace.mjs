// What the scripts here share: where the repository is, and how its tools are run.
import { spawn } from 'node:child_process';
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

/** Runs one of the workspace's tools at the root and keeps what it prints. */
export function runTool(command, args) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd: root,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    let output = '';
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', (error) => done({ passed: false, output: `${command}: ${error.message}` }));
    child.once('close', (code) => done({ passed: code === 0, output }));
  });
}

/** Milliseconds as `4.1 s`. */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
