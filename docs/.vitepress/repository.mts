import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { repositoryUrl } from '../../tooling/repository.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where people read the sources; a placeholder until the repository has an address. */
const sources = `${repositoryUrl || 'https://example.com/x'}/blob/main`;

/** The folder of every package and app that has a README, by its name on this site. */
export const folders: Readonly<Record<string, string>> = Object.fromEntries(
  ['packages', 'apps'].flatMap((group) =>
    readdirSync(`${root}/${group}`)
      .filter((name) => existsSync(`${root}/${group}/${name}/README.md`))
      .map((name) => [name, `${group}/${name}`]),
  ),
);

/**
 * Links are written for who reads the repository. Here a README is a page, a guide is a page, and everything else is read
 * where the sources are.
 */
export function onThisSite(link: string): string {
  const [, path] = /^(?:\.\.\/)+((?:packages|apps|docs|examples)(?:[/#].*)?)$/.exec(link) ?? [];
  if (path === undefined) return link;
  const [, guide] = /^docs\/(.*)$/.exec(path) ?? [];
  if (guide !== undefined) return `/${guide}`;
  const [, name, anchor] = /^(?:packages|apps)\/([\w-]+)(?:\/(?:README\.md)?)?(#.*)?$/.exec(path) ?? [];
  return name !== undefined && Object.hasOwn(folders, name)
    ? `/packages/${name}${anchor ?? ''}`
    : `${sources}/${path}`;
}
