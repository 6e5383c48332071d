// Reads from a page of the documentation what a reader would type.
import { commandsOf, extractFences } from '../checks/fences.ts';

const install = /^npm (?:install|i)\s+([^#]*[^#\s])/;
const command = /(?:^|\|\s*)npx (?:@x\/cli|x)\b/;

/**
 * @returns The packages that a page installs, its `x` commands, and its TypeScript.
 */
export function readPage(file, markdown) {
  const typed = commandsOf(markdown).map(({ text }) => text);
  return {
    file,
    packages: typed
      .flatMap((line) => install.exec(line)?.[1]?.split(/\s+/) ?? [])
      .filter((word) => !word.startsWith('-')),
    commands: typed.filter((line) => command.test(line)),
    fences: extractFences(file, markdown).fences,
  };
}
