import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Reads a source file of this repository, for tool results that look like real ones. */
export function sourceOf(path: string): string {
  return readFileSync(`${root}${path}`, 'utf8');
}

/** Lists the source files of a folder, however deep, as paths from the root. */
export function sourcesBelow(folder: string): readonly string[] {
  const names = readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`);
}

/** Joins all sources of a folder in one text, far more than fits a window. */
export function allSourcesOf(folder: string): string {
  return sourcesBelow(folder)
    .map((path) => `// ${path}\n${sourceOf(path)}`)
    .join('\n');
}

/** Lists a folder, as `list_files` would. */
export function listingOf(folder: string): string {
  return readdirSync(`${root}${folder}`).sort().join('\n');
}
