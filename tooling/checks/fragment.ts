import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import type { Problem } from './problem.js';
import { filesBelow } from './workspace.js';

/** A file of fewer lines that only its neighbor imports holds no concept of its own. */
export const minimumLines = 60;

/** Packages that hold to the rule. */
const PACKAGES: readonly string[] = [
  'packages/compaction',
  'packages/core',
  'packages/harness',
  'packages/memory',
];

/** Files, and folders of files, that stay by themselves, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'packages/harness/src/capabilities/workspace-tools': 'one tool a file is what a reader looks for',
};

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)\.js'/g;

/**
 * Finds fragments: files under {@link minimumLines} lines that one file imports, from the same folder. Entry points are
 * exempt, and so are files whose name a test has, and exceptions. An exception without a fragment is a problem as well.
 */
export function checkFragments(
  root: string,
  packages = PACKAGES,
  exceptions = EXCEPTIONS,
): readonly Problem[] {
  const fragments = packages.flatMap((folder) => fragmentsOf(root, folder));
  const excepted = Object.keys(exceptions);
  const stale = excepted.filter((path) => !fragments.some(({ file }) => isWithin(file, path)));
  return [
    ...fragments.filter(({ file }) => !excepted.some((path) => isWithin(file, path))),
    ...stale.map((file) => ({
      file,
      message: 'is an exception in fragment.ts, and no fragment; remove it there',
    })),
  ];
}

function isWithin(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path}/`);
}

function fragmentsOf(root: string, folder: string): readonly Problem[] {
  const files = filesBelow(root, `${folder}/src`).filter((file) => file.endsWith('.ts'));
  const tested = new Set(filesBelow(root, `${folder}/test`).flatMap(testedFile));
  const importers = importersOf(root, files);
  const entries = entryPoints(root, folder);
  return files.flatMap((file) => {
    const [importer, ...others] = importers.get(file) ?? [];
    if (importer === undefined || others.length > 0 || dirname(importer) !== dirname(file)) return [];
    if (entries.has(file) || tested.has(file)) return [];
    const lines = linesOf(root, file);
    if (lines >= minimumLines) return [];
    const message = `has ${lines} lines and one importer, ${posix.basename(importer)}, beside it; move it there, or test it`;
    return [{ file, message }];
  });
}

/** Finds the files that import each file. Re-exports of an index count: a public file has a name to be found by. */
function importersOf(root: string, files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    const targets = [...text.matchAll(IMPORT)].map(
      ([, path = '']) => `${posix.join(dirname(file), path)}.ts`,
    );
    for (const target of new Set(targets)) {
      const known = importers.get(target);
      if (known === undefined) importers.set(target, [file]);
      else known.push(file);
    }
  }
  return importers;
}

/** Maps `test/deep/name.test.ts` to `src/deep/name.ts`. */
function testedFile(test: string): readonly string[] {
  const match = /^(.*)\/test\/(.*)\.test\.ts$/.exec(test);
  return match === null ? [] : [`${match[1]}/src/${match[2]}.ts`];
}

function entryPoints(root: string, folder: string): ReadonlySet<string> {
  const manifest = join(root, folder, 'package.json');
  const text = existsSync(manifest) ? readFileSync(manifest, 'utf8') : '';
  return new Set([...text.matchAll(/"\.\/(src\/[^"]+\.ts)"/g)].map(([, path]) => `${folder}/${path}`));
}

function linesOf(root: string, file: string): number {
  return readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length;
}
