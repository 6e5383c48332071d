import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

it('runs the command line of a clone in another folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'x-clone-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const x = fileURLToPath(new URL('../bin/x', import.meta.url));
  const run = (...args: string[]) =>
    execFileSync(x, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, HOME: folder } });
  expect(run('init')).toContain('Wrote agent.yaml');
  expect(run('init')).toContain('Kept agent.yaml');
});
