// What a page of the documentation tells its reader to type.
import { extractFences, linesOf } from '../checks/fences.ts';

const install = /^npm (?:install|i)\s+([^#]*[^#\s])/;
const command = /(?:^|\|\s*)npx (?:@x\/cli|x)\b/;

/**
 * @returns the packages that a page installs, the commands of ours that it shows, and its TypeScript
 */
export function readPage(file, markdown) {
  const typed = linesOf(markdown).flatMap((line) => line.typed || []);
  return {
    file,
    packages: typed
      .flatMap((line) => install.exec(line)?.[1]?.split(/\s+/) ?? [])
      .filter((word) => !word.startsWith('-')),
    commands: typed.filter((line) => command.test(line)),
    fences: extractFences(file, markdown).fences,
  };
}
