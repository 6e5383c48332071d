import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository this tooling belongs to. */
export const repository = fileURLToPath(new URL('../..', import.meta.url));

/** What the checks read of a package.json. */
export interface Manifest {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** One folder with a package.json. */
export interface Member {
  /** Relative to the root: `packages/core`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The folders of a group that have a package.json: published packages, apps, or what only our tests use. */
export function members(root: string, group: 'packages' | 'apps' | 'tooling'): readonly Member[] {
  return folders(join(root, group))
    .map((name) => `${group}/${name}`)
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => ({ folder, manifest: readManifest(join(root, folder)) }));
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Every file below a folder, as paths that start with the folder; none when there is no such folder. */
export function filesBelow(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      return entry.name === 'node_modules' || entry.name === 'dist' ? [] : filesBelow(root, path);
    }
    return [path];
  });
}

/** The README of the repository, CONTRIBUTING, the READMEs of packages, apps and examples, and the pages of docs/. */
export function documents(root: string): readonly string[] {
  const readmes = [...members(root, 'packages'), ...members(root, 'apps')].map(
    ({ folder }) => `${folder}/README.md`,
  );
  const guides = filesBelow(root, 'docs').filter((file) => file.endsWith('.md'));
  return [...guides, 'README.md', 'CONTRIBUTING.md', 'examples/README.md', ...readmes].filter((file) =>
    existsSync(join(root, file)),
  );
}

/** The files that git tracks, and new ones that it does not ignore. */
export function trackedFiles(root: string): readonly string[] {
  const command = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const output = execFileSync('git', command, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  return [...new Set(output.split('\0'))].filter((file) => file !== '' && existsSync(join(root, file)));
}

function folders(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}
