import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { buildSync } from 'esbuild';

const known = new Map<string, string>();

/**
 * Bundles a test's program with the sources that it imports, and returns the path of the bundle. Each program is bundled once per process.
 * Otherwise every child process would compile the sources again, which would take most of the time.
 */
export function bundled(source: string): string {
  const file = known.get(source) ?? bundle(source);
  known.set(source, file);
  return file;
}

function bundle(source: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [source],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['@x/source'],
    // Native modules, and packages that are not installed.
    external: ['better-sqlite3', 'pg-native', '*.node'],
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`,
    },
  });
  // Write into the program's package, so that external modules are found. Rename the file, because another process may write it too.
  const folder = join(packageOf(source), 'node_modules/.cache/x');
  const file = join(folder, `${basename(source, '.ts')}.mjs`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, outputFiles[0]?.contents ?? '');
  renameSync(`${file}.${process.pid}`, file);
  return file;
}

function packageOf(path: string): string {
  const folder = dirname(path);
  return existsSync(join(folder, 'package.json')) ? folder : packageOf(folder);
}
