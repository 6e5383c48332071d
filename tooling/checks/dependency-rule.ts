import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
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

/** Finds declared dependencies, imports and dependency cycles that break the rule. */
export function checkDependencyRule(root: string): readonly Problem[] {
  const packages = members(root, 'packages');
  const apps = members(root, 'apps');
  const all = [...packages, ...apps, ...members(root, 'tooling')];
  return [
    ...packages.flatMap((member) => [...declared(member), ...imported(root, member)]),
    ...onApps(all, apps),
    ...cycles(all),
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
    .filter((name) => isOurs(name) && !allowed(manifest.name).includes(name))
    .map((name) => ({ file, message: `must not ship with ${name}: packages meet in an app` }));
}

function imported(root: string, { folder, manifest }: Member): readonly Problem[] {
  const permitted = [...allowed(manifest.name), manifest.name];
  return filesBelow(root, `${folder}/src`)
    .filter((file) => /\.[cm]?tsx?$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return ts.preProcessFile(text).importedFiles.flatMap(({ fileName, pos }) => {
        const outside =
          fileName.startsWith('.') && !posix.join(posix.dirname(file), fileName).startsWith(`${folder}/`);
        const forbidden = isOurs(fileName) && !permitted.includes(packageOf(fileName));
        if (!outside && !forbidden) return [];
        const line = text.slice(0, pos).split('\n').length;
        return [{ file, line, message: `must not import ${fileName}: packages meet in an app` }];
      });
    });
}

function onApps(all: readonly Member[], apps: readonly Member[]): readonly Problem[] {
  const names = apps.map(({ manifest }) => manifest.name);
  return all.flatMap(({ folder, manifest }) =>
    dependencies(manifest)
      .filter((name) => names.includes(name))
      .map((name) => ({ file: `${folder}/package.json`, message: `must not depend on the app ${name}` })),
  );
}

/** Turbo refuses cycles, and through devDependencies they are easily made. Each is reported once. */
function cycles(all: readonly Member[]): readonly Problem[] {
  const byName = new Map(all.map((member) => [member.manifest.name, member]));
  const finished = new Set<string>();
  const problems: Problem[] = [];
  const visit = (name: string, path: readonly string[]): void => {
    const member = byName.get(name);
    if (member === undefined || finished.has(name)) return;
    if (path.includes(name)) {
      const cycle = [...path.slice(path.indexOf(name)), name].join(' → ');
      problems.push({ file: `${member.folder}/package.json`, message: `is part of a cycle: ${cycle}` });
      return;
    }
    for (const dependency of dependencies(member.manifest)) visit(dependency, [...path, name]);
    finished.add(name);
  };
  for (const name of byName.keys()) visit(name, []);
  return problems;
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

function isOurs(specifier: string): boolean {
  return specifier.startsWith('@x/');
}

function packageOf(specifier: string): string {
  return specifier.split('/').slice(0, 2).join('/');
}
