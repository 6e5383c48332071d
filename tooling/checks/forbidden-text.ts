import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from './problem.js';

/** What no file under version control may mention: places that exist on one machine only. */
const forbidden = [
  { pattern: /(?<![\w.~-])\/(?:work|root|Users)\//, reason: "names a folder of somebody's machine" },
  { pattern: /\.\.\/shared\b/, reason: 'names a folder outside the repository' },
];

const generated = ['pnpm-lock.yaml'];

/** Finds such text in files of the repository. */
export function checkForbiddenText(root: string, files: readonly string[]): readonly Problem[] {
  return files
    .filter((file) => !generated.includes(file))
    .flatMap((file) => inspectText(file, readFileSync(join(root, file), 'utf8')));
}

/** The problems of one file's text; a binary file has none. */
export function inspectText(file: string, text: string): readonly Problem[] {
  if (text.includes('\0')) return [];
  return text
    .split('\n')
    .flatMap((content, index) =>
      forbidden
        .filter(({ pattern }) => pattern.test(content))
        .map(({ reason }) => ({ file, line: index + 1, message: reason })),
    );
}
