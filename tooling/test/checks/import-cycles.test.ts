import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const repository = join(import.meta.dirname, '../../..');

/** What `npm run check -- style` says about the imports of these files. */
function lint(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'x-cycles-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { linter } = JSON.parse(readFileSync(join(repository, 'biome.json'), 'utf8'));
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ root: true, linter }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const biome = join(repository, 'node_modules/.bin/biome');
  const { stdout, stderr } = spawnSync(biome, ['lint', '--colors=off', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout + stderr;
}

test('a circle of imports in a package is reported, also one of types alone and by several files', () => {
  const a = "import type { B } from './b.js';\nexport type A = B | 1;\n";
  const b = "export type { C as B } from './c.js';\n";
  expect(
    lint({ 'a.ts': a, 'b.ts': b, 'c.ts': "import type { A } from './a.js';\nexport type C = A | 2;\n" }),
  ).toMatch(/a\.ts:1:\d+ lint\/suspicious\/noImportCycles/);
  expect(lint({ 'a.ts': a, 'b.ts': b, 'c.ts': 'export type C = 2;\n' })).not.toContain('noImportCycles');
});
