import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { expect } from 'vitest';

/** Reads all files below a folder into one text, for {@link unpackFiles}. */
export function packFiles(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const nameOf = (path: string) => relative(folder, path).split(sep).join('/');
  const files = paths.sort().map((path) => [nameOf(path), readFileSync(path, 'utf8')]);
  return `${JSON.stringify(Object.fromEntries(files), undefined, 1)}\n`;
}

/** Writes the files from {@link packFiles} to a folder. */
export function unpackFiles(folder: string, text: string): void {
  for (const [name, content] of Object.entries(JSON.parse(text) as Record<string, string>)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/**
 * Compares stored data with the fixture of its format. Times, UUIDs, white space and the order of lines may differ. If there is no fixture
 * and the environment variable `X_FIXTURES` is `write`, writes it.
 *
 * @param file The fixture, such as `fixtures/stored/1/sessions.sql`.
 * @param random Matches other random parts.
 */
export function expectStored(file: string, text: string, random?: RegExp): void {
  if (process.env.X_FIXTURES === 'write' && !existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const hint =
    `The stored data differs from the fixture ${file}. If a release has written this format, increment the format number and write a new ` +
    'fixture with X_FIXTURES=write. Otherwise delete the fixture first.';
  expect(masked(text, random), hint).toEqual(masked(readFileSync(file, 'utf8'), random));
}

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, '<time>'],
  // Milliseconds since 1970, and fences, which are larger.
  [/(?<!\d)\d{13,19}(?!\d)/g, '<number>'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/[ \t]+/g, ' '],
];

function masked(text: string, random: RegExp = /$^/g): readonly string[] {
  // Applied first, because random parts may consist only of digits.
  const masks = [[random, '<random>'] as const, ...MASKS];
  return masks
    .reduce((all, [what, by]) => all.replaceAll(what, by), text)
    .split('\n')
    .map((line) => line.trim().replace(/,$/, ''))
    .sort();
}
