import { readFileSync } from 'node:fs';

const { url } = JSON.parse(readFileSync(new URL('repository.json', import.meta.url), 'utf8')) as {
  readonly url: string;
};

/** The address of this repository. `repository.json` is the only place that has it; it is empty until the first release. */
export const repositoryUrl = url;

/** Returns why no package can be published from this address, and what to write instead; `undefined` if one can. */
export function addressProblem(address: string): string | undefined {
  if (/^https:\/\/[\w.-]+\/[^\s/]+\/(?:[^\s/]+\/)*[^\s/]+$/.test(address) && !address.endsWith('.git')) {
    return undefined;
  }
  const found = address === '' ? 'is empty' : `is "${address}", which is not the address of a repository`;
  return (
    `"url" in tooling/repository.json ${found}. Write { "url": "https://github.com/OWNER/NAME" } there, without ` +
    '".git" and without a slash at the end. The home page, the bug tracker and the source of every package are ' +
    'derived from it, and npm rejects provenance without it.'
  );
}
