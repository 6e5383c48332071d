import { expect, test } from 'vitest';
import { checkRegistrations } from '../../checks/registrations.js';
import { temporaryRepository } from './temporary-repository.js';

const row = (folder: string) => `| [\`@x/${folder.split('/')[1]}\`](${folder}) | words |`;

/** A repository whose files name these folders. */
function naming(...folders: readonly string[]) {
  const names = folders.map((folder) => `@x/${folder.split('/')[1]}`);
  const table = (value: unknown) => Object.fromEntries(names.map((name) => [name, value]));
  return {
    'README.md': ['| package | |', '| --- | --- |', ...folders.map(row)].join('\n'),
    'examples/package.json': { dependencies: { zod: '4', ...table('workspace:^') } },
    'tooling/budget.json': { one: { lines: 9, folders }, rest: { lines: 9, folders: [''] } },
    'tooling/archives.ts': folders.map((folder) => `  '${folder}': 30,`).join('\n'),
    'tooling/peers.mjs': folders.map((folder) => `{ adapter: '${folder.split('/')[1]}' }`).join(),
    '.changeset/pre.json': { initialVersions: { '@x/docs': '0.0.0', ...table('0.0.0') } },
    '.changeset/one.md': `---\n${names.map((name) => `'${name}': minor`).join('\n')}\n---\n\n'@x/no': word\n`,
  };
}

const packages = {
  'packages/core/package.json': { name: '@x/core' },
  'packages/core/tsup.config.ts': "entry: ['src/index.ts', 'src/**/*.ts']",
  'packages/core/src/index.ts': '',
  'apps/demo/package.json': { name: '@x/demo', private: true },
};

const found = (files: Readonly<Record<string, string | object>>) =>
  checkRegistrations(temporaryRepository({ ...packages, ...files })).map(
    ({ file, message }) => `${file} ${message}`,
  );

test('a package that every file names passes', () => {
  expect(found(naming('packages/core'))).toEqual([]);
});

test('each file that does not name a published package is told', () => {
  expect(found(naming())).toEqual([
    'README.md does not name packages/core',
    'examples/package.json does not name @x/core',
    'tooling/budget.json does not name packages/core',
    'tooling/archives.ts does not name packages/core',
  ]);
});

test('so is each file that names a package which is gone', () => {
  expect(found(naming('packages/core', 'packages/gone'))).toEqual([
    'README.md names packages/gone, which does not exist',
    'examples/package.json names @x/gone, which does not exist',
    'tooling/budget.json names packages/gone, which does not exist',
    'tooling/archives.ts names packages/gone, which does not exist',
    'tooling/peers.mjs names gone, which does not exist',
    '.changeset/pre.json names @x/gone, which does not exist',
    '.changeset/one.md names @x/gone, which does not exist',
  ]);
});

test('so is an entry of the build or of the reference that has no source', () => {
  expect(
    found({
      ...naming('packages/core'),
      'packages/core/tsup.config.ts': "entry: ['src/index.ts', 'src/mcp/index.ts']",
      'packages/core/typedoc.json': { entryPoints: ['src/node.ts'] },
    }),
  ).toEqual([
    'packages/core/tsup.config.ts names src/mcp/index.ts, which does not exist',
    'packages/core/typedoc.json names src/node.ts, which does not exist',
  ]);
});
