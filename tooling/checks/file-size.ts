import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from './problem.js';
import { filesBelow, members } from './workspace.js';

/** A file beyond this holds more than one concept. */
export const maximumLines = 400;

/** Finds source files that are too long. */
export function checkFileSizes(root: string): readonly Problem[] {
  const folders = [
    ...members(root, 'packages').map(({ folder }) => `${folder}/src`),
    ...members(root, 'apps').flatMap(({ folder }) => [`${folder}/src`, `${folder}/web`]),
    'tooling',
  ];
  return folders
    .flatMap((folder) => filesBelow(root, folder))
    .filter((file) => /\.(ts|tsx|mjs|css)$/.test(file))
    .map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > maximumLines)
    .map(({ file, lines }) => ({
      file,
      message: `has ${lines} lines; split it by concept (at most ${maximumLines})`,
    }));
}
