import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import type { Problem } from './problem.js';
import { filesBelow, members } from './workspace.js';

/** What the site alone has: it is built from the sources. */
const BUILT = /^\/(?:api|packages)\//;

/** Finds links of the guides and READMEs to files that do not exist. VitePress looks only at links between pages of its site. */
export function checkLinks(root: string): readonly Problem[] {
  const readmes = [...members(root, 'packages'), ...members(root, 'apps')].map(({ folder }) => folder);
  return [
    ...filesBelow(root, 'docs').filter((file) => file.endsWith('.md')),
    ...['examples', ...readmes].map((folder) => `${folder}/README.md`),
  ]
    .filter((file) => existsSync(join(root, file)))
    .flatMap((file) => deadLinks(root, file));
}

function deadLinks(root: string, file: string): readonly Problem[] {
  const problems: Problem[] = [];
  let isInFence = false;
  for (const [index, text] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    if (text.startsWith('```')) isInFence = !isInFence;
    if (isInFence) continue;
    // Code in backticks may look like a link.
    for (const [, target = ''] of text
      .replaceAll(/`[^`]*`/g, '')
      .matchAll(/\]\(((?!\w+:|#|\/\/)[^)#\s]+)/g)) {
      if (BUILT.test(target) || isThere(root, file, target)) continue;
      problems.push({ file, line: index + 1, message: `links to ${target}, which does not exist` });
    }
  }
  return problems;
}

/** Tests if a link leads to a file or folder, or to a page or picture of the site. Links to pages have no `.md`. */
function isThere(root: string, file: string, target: string): boolean {
  const paths = target.startsWith('/')
    ? [`docs${target}`, `docs/public${target}`]
    : [posix.join(dirname(file), target)];
  return paths.some((path) => existsSync(join(root, path)) || existsSync(join(root, `${path}.md`)));
}
