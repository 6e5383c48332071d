import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from './problem.js';

/** READMEs and pages. Excludes decisions, which keep their original wording. */
const PROSE = /^(?:README|CONTRIBUTING|docs\/(?!decisions\/).*|(?:packages|apps|examples)\/.*README)\.md$/;

/** Paths that exist only on one machine, and words that AGENTS.md forbids and that have no other meaning in our texts. */
const forbidden = [
  { files: /./, pattern: /(?<![\w.~-])\/(?:work|root|Users)\//, reason: 'names a folder of one machine' },
  { files: /./, pattern: /\.\.\/shared\b/, reason: 'names a folder outside the repository' },
  {
    files: PROSE,
    pattern:
      /\b(?:somebody|whoever|handed|(?:is|are) told|tells? of|that is none|is no (?:JSON|YAML|valid))\b/i,
    reason: 'uses words that AGENTS.md rules out: name who does what, with a plain verb',
  },
];

const generated = ['pnpm-lock.yaml'];

/** Finds forbidden text in files of the repository. */
export function checkForbiddenText(root: string, files: readonly string[]): readonly Problem[] {
  return files
    .filter((file) => !generated.includes(file))
    .flatMap((file) => inspectText(file, readFileSync(join(root, file), 'utf8')));
}

/** Returns the problems in the text of one file. Skips binary files. */
export function inspectText(file: string, text: string): readonly Problem[] {
  if (text.includes('\0')) return [];
  return text
    .split('\n')
    .flatMap((content, index) =>
      forbidden
        .filter(({ files, pattern }) => files.test(file) && pattern.test(content))
        .map(({ reason }) => ({ file, line: index + 1, message: reason })),
    );
}
