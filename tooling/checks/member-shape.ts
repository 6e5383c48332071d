import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from './problem.js';
import { type Member, members, readManifest } from './workspace.js';

/** Files that every published package must have, so that all packages look and build alike. */
const packageFiles = [
  'README.md',
  'LICENSE',
  'tsconfig.json',
  'tsup.config.ts',
  'vitest.config.ts',
  'src/index.ts',
];

/** Files that every app must have. Published apps also need a LICENSE. */
const appFiles = ['README.md', 'tsconfig.json', 'vitest.config.ts'];

const packageManifest = {
  license: 'MIT',
  type: 'module',
  sideEffects: false,
  files: ['dist', 'src'],
  scripts: {
    build: 'tsup',
    'check:package': 'publint --strict',
    'check:types': 'attw --pack . --profile esm-only --quiet',
    test: 'vitest run',
  },
};

/** Length in characters of the description that npm shows in its search and on the page of a package. */
const descriptionLength = { from: 20, to: 120 };
const fewestKeywords = 3;

/** Fields that a manifest must not have, because `tooling/pnpmfile.cjs` adds them when a package is packed. */
const filledIn = ['repository', 'homepage', 'bugs'];

/** Finds packages and apps that lack a file, or whose package.json differs from the common form. */
export function checkShapes(root: string): readonly Problem[] {
  const { engines } = readManifest(root);
  return [
    ...members(root, 'packages').flatMap((member) => [
      ...missing(root, member, packageFiles),
      ...manifestProblems(member, { ...packageManifest, engines }),
      ...publicProblems(member),
      ...exportsProblems(member),
    ]),
    ...members(root, 'apps').flatMap((member) => [
      ...missing(root, member, member.manifest.private === true ? appFiles : [...appFiles, 'LICENSE']),
      ...manifestProblems(member, { license: 'MIT', type: 'module', engines }),
      ...(member.manifest.private === true ? [] : publicProblems(member)),
    ]),
    // Test code is never published, so it needs neither a build nor a README. It needs a version, because pnpm cannot pack a package whose
    // devDependencies include a package without one.
    ...members(root, 'tooling').flatMap((member) => [
      ...missing(root, member, ['vitest.config.ts']),
      ...manifestProblems(member, {
        private: true,
        version: '0.0.0',
        license: 'MIT',
        type: 'module',
        engines,
      }),
    ]),
  ];
}

function missing(root: string, { folder }: Member, files: readonly string[]): readonly Problem[] {
  return files
    .filter((file) => !existsSync(join(root, folder, file)))
    .map((file) => ({ file: folder, message: `has no ${file}` }));
}

function manifestProblems({ folder, manifest }: Member, expected: object): readonly Problem[] {
  return Object.entries(expected)
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
    .map(([field, value]) => ({
      file: `${folder}/package.json`,
      message: `"${field}" must be ${JSON.stringify(value)}`,
    }));
}

/** Finds a missing or unsuitable description or keywords in a published manifest, and fields that packing adds. */
function publicProblems({ folder, manifest }: Member): readonly Problem[] {
  const { description, keywords } = manifest;
  const { from, to } = descriptionLength;
  const messages = filledIn
    .filter((field) => field in manifest)
    .map((field) => `must not have "${field}": packing adds it from tooling/repository.json`);
  if (typeof description !== 'string' || description.length < from || description.length > to) {
    messages.push(`must have a "description" of ${from} to ${to} characters`);
  }
  const words = Array.isArray(keywords) ? keywords.filter((word) => /^[a-z\d][a-z\d-]*$/.test(word)) : [];
  if (words.length < fewestKeywords || words.length !== new Set(keywords as string[]).size) {
    messages.push(
      `must have at least ${fewestKeywords} different "keywords" of lower-case letters, digits and hyphens`,
    );
  }
  return messages.map((message) => ({ file: `${folder}/package.json`, message }));
}

/** Checks that every entry point has its source, its types and its ESM build, in this order, because the first matching condition wins. */
function exportsProblems({ folder, manifest }: Member): readonly Problem[] {
  const file = `${folder}/package.json`;
  const { './package.json': own, ...entries } = (manifest.exports ?? {}) as Record<string, unknown>;
  const problems: Problem[] = [];
  if (own !== './package.json') problems.push({ file, message: 'must export "./package.json"' });
  if (!('.' in entries)) problems.push({ file, message: 'must export "."' });
  for (const [name, targets] of Object.entries(entries)) {
    const source = String((targets as Record<string, unknown>)['@x/source']);
    const stem = /^\.\/src\/(.+)\.ts$/.exec(source)?.[1];
    const expected = {
      '@x/source': `./src/${stem}.ts`,
      types: `./dist/${stem}.d.ts`,
      default: `./dist/${stem}.js`,
    };
    // Compared as text, since the order of conditions matters.
    if (stem === undefined || JSON.stringify(targets) !== JSON.stringify(expected)) {
      problems.push({
        file,
        message: `exports "${name}" must have "@x/source" (src), "types" and "default" (dist), in this order`,
      });
    }
  }
  return problems;
}
