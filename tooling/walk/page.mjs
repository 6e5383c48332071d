// What a page of the documentation tells its reader to type.
import { extractFences } from '../checks/fences.ts';

const install = /^npm (?:install|i)\s+(.+)$/;
const command = /(?:^|\|\s*)npx (?:@x\/cli|x)\b/;

/**
 * @returns the packages that a page installs, the commands of ours that it shows, and its TypeScript
 */
export function readPage(file, markdown) {
  const typed = shellLines(markdown);
  return {
    file,
    packages: typed
      .flatMap((line) => install.exec(line)?.[1]?.split(/\s+/) ?? [])
      .filter((word) => !word.startsWith('-')),
    commands: typed.filter((line) => command.test(line)),
    fences: extractFences(file, markdown).fences,
  };
}

/** Lines in fences for a shell, and lines that are code because they are indented; without comments. */
function shellLines(markdown) {
  const lines = [];
  let fence;
  for (const line of markdown.split('\n')) {
    const marker = /^```(\S*)/.exec(line);
    if (marker !== null) fence = fence === undefined ? marker[1] : undefined;
    else if (fence === 'sh' || (fence === undefined && line.startsWith('    '))) lines.push(line.trim());
  }
  return lines.map((line) => line.replace(/\s+#\s.*$/, '')).filter((line) => line !== '');
}
