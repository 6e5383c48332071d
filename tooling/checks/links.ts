import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseMarkdown } from './fences.js';
import type { Problem } from './problem.js';
import { contributorPages, documents } from './workspace.js';

/** Pages of the site that are generated from the sources, so the repository does not contain them. */
const BUILT = /^\/(?:api|packages)\//;

/** Finds links to files and headings that do not exist. VitePress checks only links between pages of its site. */
export function checkLinks(root: string): readonly Problem[] {
  const files = new Set([...documents(root), ...contributorPages(root)]);
  return [...files].flatMap((file) => deadLinks(root, file));
}

function deadLinks(root: string, file: string): readonly Problem[] {
  return proseOf(root, file).flatMap(({ line, text }) =>
    // Code in backticks may look like a link.
    [...text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(((?!\w+:|\/\/)[^)\s]+)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !BUILT.test(target) && !isThere(root, file, target))
      .map((target) => ({ file, line, message: `links to ${target}, which does not exist` })),
  );
}

function proseOf(root: string, file: string) {
  return parseMarkdown(readFileSync(join(root, file), 'utf8')).prose;
}

/**
 * Tests if a link leads to a file or folder, or to a page or picture of the site, and its heading. Links to pages may have no `.md`. Links
 * that leave the repository lead to other pages of its host, such as a form for reports.
 */
function isThere(root: string, file: string, target: string): boolean {
  const [path = '', heading] = target.split('#');
  const relative = path === '' ? file : posix.join(dirname(file), path);
  if (relative.startsWith('../')) return true;
  const paths = path.startsWith('/') ? [`docs${path}`, `docs/public${path}`] : [relative];
  const found = paths.flatMap((each) => [each, `${each}.md`]).find((each) => existsSync(join(root, each)));
  if (found === undefined || heading === undefined || !found.endsWith('.md')) return found !== undefined;
  return proseOf(root, found).some(({ text }) => text.startsWith('#') && anchorOf(text) === heading);
}

/** Returns the anchor of a heading: its letters, digits and hyphens, in lower case, with hyphens for spaces. */
function anchorOf(heading: string): string {
  const title = heading.replace(/^#+ /, '').replaceAll(/\]\([^)]*\)/g, ']');
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
