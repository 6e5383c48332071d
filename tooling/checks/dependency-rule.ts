import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { Problem } from './problem.js';
import { filesBelow, type Member, members } from './workspace.js';

/**
 * The dependency rule: which @x packages each package may ship with. Everything depends on core alone; parts meet as
 * values, in an app. So nobody installs a database driver for a compactor.
 */
const ships = {
  default: ['@x/core'],
  '@x/core': [],
  // A drop-in for LangChain's own middleware has to make the compactor from LangChain's options.
  '@x/langchain': ['@x/core', '@x/compaction'],
} as Readonly<Record<string, readonly string[]> & { default: readonly string[] }>;

/** Packages whose whole list of dependencies is fixed. */
const exactly: Readonly<Record<string, readonly string[]>> = {
  '@x/core': ['@cfworker/json-schema', 'zod'],
};

const shippedFields = ['dependencies', 'peerDependencies', 'optionalDependencies'];

/**
 * Finds manifests and imports of packages that break the rule. The build finds imports that leave a package by a path, Biome circles
 * of imports in a package, and Turbo circles of packages.
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
    return [{ file, message: `must ship with exactly ${expected.join(', ')}, not with ${names.join(', ')}` }];
  }
  return names
    .filter((name) => name.startsWith('@x/') && !allowed(manifest.name).includes(name))
    .map((name) => ({ file, message: `must not ship with ${name}: packages meet in an app` }));
}

/** Biome does the same for all packages, and overlooks imports of types. */
function imported(root: string, { folder, manifest }: Member): readonly Problem[] {
  const permitted = [...allowed(manifest.name), manifest.name];
  return filesBelow(root, `${folder}/src`).flatMap((file) =>
    ts
      .preProcessFile(readFileSync(join(root, file), 'utf8'))
      .importedFiles.map(({ fileName }) => fileName.split('/').slice(0, 2).join('/'))
      .filter((name) => name.startsWith('@x/') && !permitted.includes(name))
      .map((name) => ({ file, message: `must not import ${name}: packages meet in an app` })),
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
