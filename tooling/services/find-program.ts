import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

// Debian installs servers in /usr/sbin, which may not be in PATH, and each release of PostgreSQL in a separate folder.
const beyondPath = ['/usr/local/sbin', '/usr/sbin'];
const RELEASES = '/usr/lib/postgresql';

/**
 * Returns the path of the first of these programs that is installed.
 *
 * @throws {Error} if none is in PATH, in the system's sbin folders, or in the folders of PostgreSQL.
 */
export function findProgram(names: readonly string[]): string {
  const releases = existsSync(RELEASES) ? readdirSync(RELEASES) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter).filter(Boolean),
    ...beyondPath,
    ...releases
      .sort((left, right) => Number(right) - Number(left))
      .map((release) => join(RELEASES, release, 'bin')),
  ];
  for (const name of names) {
    // An absolute name resolves to itself in every folder.
    const found = folders.map((folder) => resolve(join(folder), name)).find(isExecutable);
    if (found !== undefined) return found;
  }
  throw new Error(`no ${names.join(' or ')} on PATH, ${beyondPath.join(' or ')}`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
