import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { linesOf } from './fences.js';
import type { Problem } from './problem.js';
import { documents } from './workspace.js';

/** What the site alone has: it is built from the sources. */
const BUILT = /^\/(?:api|packages)\//;

/** Finds links of the guides and READMEs to files that do not exist. VitePress looks only at links between pages of its site. */
export function checkLinks(root: string): readonly Problem[] {
  return documents(root).flatMap((file) => deadLinks(root, file));
}

function deadLinks(root: string, file: string): readonly Problem[] {
  const prose = linesOf(readFileSync(join(root, file), 'utf8')).filter(({ fence }) => fence === undefined);
  return prose.flatMap(({ line, text }) =>
    // Code in backticks may look like a link.
    [...text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(((?!\w+:|#|\/\/)[^)#\s]+)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !BUILT.test(target) && !isThere(root, file, target))
      .map((target) => ({ file, line, message: `links to ${target}, which does not exist` })),
  );
}

/** Tests if a link leads to a file or folder, or to a page or picture of the site. Links to pages have no `.md`. */
function isThere(root: string, file: string, target: string): boolean {
  const paths = target.startsWith('/')
    ? [`docs${target}`, `docs/public${target}`]
    : [posix.join(dirname(file), target)];
  return paths.some((path) => existsSync(join(root, path)) || existsSync(join(root, `${path}.md`)));
}
