import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of this repository. */
export const repository = fileURLToPath(new URL('../..', import.meta.url));

/** The fields of a package.json that the checks read. */
export interface Manifest {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** A folder with a package.json. */
export interface Member {
  /** Path relative to the root: `packages/core`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Returns the folders of a group that have a package.json: published packages, apps, or code for our tests. */
export function members(root: string, group: 'packages' | 'apps' | 'tooling'): readonly Member[] {
  return folders(join(root, group))
    .map((name) => `${group}/${name}`)
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => ({ folder, manifest: readManifest(join(root, folder)) }));
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Returns every file below a folder, as paths that start with the folder. Returns an empty list if the folder does not exist. */
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

/** Returns the paths of the README, CONTRIBUTING, the READMEs of packages, apps and examples, and the pages of docs/. */
export function documents(root: string): readonly string[] {
  const readmes = [...members(root, 'packages'), ...members(root, 'apps')].map(
    ({ folder }) => `${folder}/README.md`,
  );
  const guides = filesBelow(root, 'docs').filter((file) => file.endsWith('.md'));
  return [...guides, 'README.md', 'CONTRIBUTING.md', 'examples/README.md', ...readmes].filter((file) =>
    existsSync(join(root, file)),
  );
}

/** Returns the paths of the pages that explain the repository to contributors. */
export function contributorPages(root: string): readonly string[] {
  return [
    'README.md',
    'CONTRIBUTING.md',
    'AGENTS.md',
    'SECURITY.md',
    'CODE_OF_CONDUCT.md',
    'docs/field-reports.md',
    '.github/pull_request_template.md',
  ].filter((file) => existsSync(join(root, file)));
}

/** Returns the files that Git tracks, and new files that it does not ignore. */
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
