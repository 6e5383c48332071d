import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** A source file of this repository, for tool results that look like what they stand for. */
export function sourceOf(path: string): string {
  return readFileSync(`${root}${path}`, 'utf8');
}

/** All sources of a folder in one text, far more than fits a window. */
export function allSourcesOf(folder: string): string {
  const files = readdirSync(`${root}${folder}`).filter((name) => name.endsWith('.ts'));
  return files.map((name) => `// ${folder}/${name}\n${sourceOf(`${folder}/${name}`)}`).join('\n');
}

/** What is in a folder, as `list_files` would say it. */
export function listingOf(folder: string): string {
  return readdirSync(`${root}${folder}`).sort().join('\n');
}
