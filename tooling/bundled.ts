import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { buildSync } from 'esbuild';

const known = new Map<string, string>();

/**
 * Bundles a program of a test, once a process, with the sources that it loads, and answers the file: to compile them in each
 * process that runs it would take most of the time.
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
    // Compiled code, and what is not installed.
    external: ['better-sqlite3', 'pg-native', '*.node'],
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`,
    },
  });
  // In its package, so that what is not bundled is found. Another test may do the same now.
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
