// Tests `@x/ai-sdk` against version 7 of the AI SDK. Its manifest asks for Node 22, so that it cannot be installed beside
// the rest on Node 20: it is installed into a folder of its own, with npm, and runs on the Node that runs this.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const AI_SDK = '7.0.173';
const packageFolder = fileURLToPath(new URL('../packages/ai-sdk', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'x-ai-sdk-7-'));

/** Runs a program to its end; whether it went well. */
function run(program, parameters, cwd, env = {}) {
  return (
    spawnSync(program, parameters, { cwd, stdio: 'inherit', env: { ...process.env, ...env } }).status === 0
  );
}

try {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const installed = run(
    'npm',
    [
      'install',
      '--no-engine-strict',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      `ai@${AI_SDK}`,
      'zod@^4',
    ],
    folder,
  );
  if (!installed) console.error(`ai@${AI_SDK} could not be installed: npm says why above.`);
  const vitest = [
    'exec',
    'vitest',
    '--',
    'run',
    'test/agent',
    'test/from-ai-sdk.test.ts',
    'test/ui',
    ...process.argv.slice(2),
  ];
  process.exitCode = installed && run('npm', vitest, packageFolder, { X_AI_SDK: folder }) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
