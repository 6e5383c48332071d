import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that these tests stand in. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Figures {
  readonly files: number;
  readonly lines: number;
}

/** Files and lines (as `wc -l` counts them) below a directory of the repository, found without the guide's commands. */
export function figuresOf(directory = ''): Figures {
  const prefix = directory === '' ? '' : `${directory}/`;
  const files = repositoryFiles().filter((file) => file.startsWith(prefix));
  const lines = files.reduce((sum, file) => sum + newlines(join(root, file)), 0);
  return { files: files.length, lines };
}

function repositoryFiles(): readonly string[] {
  if (existsSync(join(root, '.git'))) {
    const options = { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 } as const;
    return execFileSync('git', ['ls-files', '-z'], options).split('\0').filter(Boolean);
  }
  return [...walk('')];
}

function* walk(directory: string): Generator<string> {
  for (const name of readdirSync(join(root, directory))) {
    if (name === 'node_modules' || (directory === '' && name === '.git')) continue;
    const path = directory === '' ? name : `${directory}/${name}`;
    if (statSync(join(root, path)).isDirectory()) yield* walk(path);
    else yield path;
  }
}

function newlines(path: string): number {
  let count = 0;
  for (const byte of readFileSync(path)) if (byte === 10) count++;
  return count;
}
