import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { Problem } from './problem.js';
import { filesBelow, type Member, members } from './workspace.js';

/**
 * The dependency rule: the @x packages that each package may depend on. Packages depend only on core, and apps combine them.
 * So users of the compactor do not have to install a database driver.
 */
const ships = {
  default: ['@x/core'],
  '@x/core': [],
  // Replaces a middleware of LangChain, so it must create the compactor from LangChain's options.
  '@x/langchain': ['@x/core', '@x/compaction'],
} as Readonly<Record<string, readonly string[]> & { default: readonly string[] }>;

/** Packages whose whole list of dependencies is fixed. */
const exactly: Readonly<Record<string, readonly string[]>> = {
  '@x/core': ['@cfworker/json-schema', 'zod'],
};

const shippedFields = ['dependencies', 'peerDependencies', 'optionalDependencies'];

/**
 * Finds manifests and imports of packages that break the rule. Other tools find related problems: the build finds imports of files outside
 * the package, Biome finds circular imports in a package, and Turbo finds circular dependencies between packages.
 */
export function checkDependencyRule(root: string): readonly Problem[] {
  const packages = members(root, 'packages');
  const apps = members(root, 'apps');
  return [
    ...packages.flatMap((member) => [...declared(member), ...imported(root, member)]),
    ...onApps([...packages, ...apps, ...members(root, 'tooling')], apps),
  ];
}

function declared({ folder, manifest }: Member): readonly Problem[] {
  const file = `${folder}/package.json`;
  const names = dependencies(manifest, shippedFields);
  const expected = exactly[manifest.name];
  if (expected !== undefined && names.toSorted().join() !== expected.toSorted().join()) {
    return [{ file, message: `must depend on exactly ${expected.join(', ')}, not on ${names.join(', ')}` }];
  }
  return names
    .filter((name) => name.startsWith('@x/') && !allowed(manifest.name).includes(name))
    .map((name) => ({ file, message: `must not depend on ${name}: only apps combine packages` }));
}

/** Finds forbidden imports, including imports of types, which Biome ignores. */
function imported(root: string, { folder, manifest }: Member): readonly Problem[] {
  const permitted = [...allowed(manifest.name), manifest.name];
  return filesBelow(root, `${folder}/src`).flatMap((file) =>
    ts
      .preProcessFile(readFileSync(join(root, file), 'utf8'))
      .importedFiles.map(({ fileName }) => fileName.split('/').slice(0, 2).join('/'))
      .filter((name) => name.startsWith('@x/') && !permitted.includes(name))
      .map((name) => ({ file, message: `must not import ${name}: only apps combine packages` })),
  );
}

function onApps(all: readonly Member[], apps: readonly Member[]): readonly Problem[] {
  const names = apps.map(({ manifest }) => manifest.name);
  return all.flatMap(({ folder, manifest }) =>
    dependencies(manifest)
      .filter((name) => names.includes(name))
      .map((name) => ({ file: `${folder}/package.json`, message: `must not depend on the app ${name}` })),
  );
}

function dependencies(
  manifest: Member['manifest'],
  fields: readonly string[] = [...shippedFields, 'devDependencies'],
): readonly string[] {
  return [...new Set(fields.flatMap((field) => Object.keys((manifest[field] ?? {}) as object)))];
}

function allowed(name: string): readonly string[] {
  return ships[name] ?? ships.default;
}
