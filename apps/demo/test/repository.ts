import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that these tests stand in. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * A copy of the repository as it was last committed, below this directory: the checkout itself may change while tests
 * count in it. If there is no git, the checkout.
 */
export function copyOfRepository(directory: string): string {
  if (!existsSync(join(root, '.git'))) return root;
  const copy = join(directory, 'repository');
  execFileSync('git', ['clone', '--quiet', root, copy]);
  return copy;
}

export interface Figures {
  readonly files: number;
  readonly lines: number;
}

/** Files and lines (as `wc -l` counts them) below a directory of a repository, found without the guide's commands. */
export function figuresOf(repository: string, directory = ''): Figures {
  const prefix = directory === '' ? '' : `${directory}/`;
  const files = filesOf(repository).filter((file) => file.startsWith(prefix));
  const lines = files.reduce((sum, file) => sum + newlines(join(repository, file)), 0);
  return { files: files.length, lines };
}

/** Exported declarations below a directory of a repository, found without the guide's commands. */
export function exportsOf(repository: string, directory: string): number {
  const declared = /^export (?:async |abstract |default )*(?:function|class|const|interface|type)/gm;
  const files = filesOf(repository).filter((file) => file.startsWith(`${directory}/`));
  const count = (file: string) => readFileSync(join(repository, file), 'latin1').match(declared)?.length ?? 0;
  return files.reduce((sum, file) => sum + count(file), 0);
}

function filesOf(repository: string): readonly string[] {
  if (existsSync(join(repository, '.git'))) {
    const options = { cwd: repository, encoding: 'utf8', maxBuffer: 1 << 28 } as const;
    return execFileSync('git', ['ls-files', '-z'], options).split('\0').filter(Boolean);
  }
  return [...walk(repository, '')];
}

function* walk(repository: string, directory: string): Generator<string> {
  for (const name of readdirSync(join(repository, directory))) {
    if (name === 'node_modules' || (directory === '' && name === '.git')) continue;
    const path = directory === '' ? name : `${directory}/${name}`;
    if (statSync(join(repository, path)).isDirectory()) yield* walk(repository, path);
    else yield path;
  }
}

function newlines(path: string): number {
  let count = 0;
  for (const byte of readFileSync(path)) if (byte === 10) count++;
  return count;
}
