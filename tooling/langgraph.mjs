// Runs LangGraph's own validation of checkpointers on `SessionSaver` of `@x/langchain` over every store, or over those named. The
// suite is no dependency: npm installs it into a folder of its own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGES = [
  '@langchain/langgraph-checkpoint-validation@1.1.1',
  '@langchain/langgraph-checkpoint@^1.2.2',
  '@langchain/core@^1.4.0',
  'vitest@^4.1.12',
];
const STORES = ['memory', 'files', 'sqlite', 'redis', 'mysql', 'postgres'];
const here = fileURLToPath(new URL('langgraph', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'x-langgraph-'));
const run = (program, parameters, cwd, env = {}) =>
  spawnSync(program, parameters, { cwd, stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;

try {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const flags = ['--no-audit', '--no-fund', '--loglevel=error'];
  if (run('npm', ['install', ...flags, ...PACKAGES], folder)) {
    const asked = process.argv.slice(2);
    const failed = (asked.length > 0 ? asked : STORES).filter(
      (store) => !run('npm', ['exec', 'vitest', '--', 'run'], here, { X_LANGGRAPH: folder, X_STORE: store }),
    );
    if (failed.length > 0) console.error(`Not as LangGraph has it: ${failed.join(', ')}`);
    process.exitCode = failed.length > 0 ? 1 : 0;
  } else {
    console.error('The suite could not be installed: npm says why above.');
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
