import { expect, test } from 'vitest';
import { checkMentions } from '../../checks/mentions.js';
import { temporaryRepository } from './temporary-repository.js';

const files = {
  'package.json': { scripts: { start: '', test: '', check: '' } },
  'packages/core/test/a.test.ts': '',
  'docs/guide.md': '',
  '.nvmrc': '22',
};

const found = (more: Readonly<Record<string, string>>) =>
  checkMentions(temporaryRepository({ ...files, ...more })).map(
    ({ file, line, message }) => `${line === undefined ? file : `${file}:${line}`} ${message}`,
  );

test('a page names only paths and scripts that exist', () => {
  expect(
    found({
      'README.md': [
        'Read `docs/guide.md` or `packages/<name>/src/index.ts`.',
        'Take `@x/core/node`, `/mcp` and `node_modules/x`, from [there](https://example.com/a/b).',
        'Run `npm test`, `npm run check -- types` or `cd packages/core && A=1 npx vitest run test/a.test.ts`.',
        '',
        '    npm start        # see docs/none.md',
        '```ts',
        "import './none/at/all.js';",
        '```',
      ].join('\n'),
    }),
  ).toEqual([]);
});

test('what a page names and the repository does not have is found with its line', () => {
  expect(
    found({
      'README.md': 'Read `docs/other.md`.\n`packages/nothing/<name>.ts`.',
      'CONTRIBUTING.md': '```sh\ncd packages/core && npx vitest run test/b.test.ts\nnpm run walk\n```',
    }),
  ).toEqual([
    'README.md:1 names docs/other.md, which does not exist',
    'README.md:2 names packages/nothing, which does not exist',
    'CONTRIBUTING.md:2 names packages/core/test/b.test.ts, which does not exist',
    'CONTRIBUTING.md:3 runs the script "walk", which package.json does not have',
  ]);
});

test('so is what a workflow runs, also by its matrix', () => {
  const workflow = (matrix: string, step: string, version: string) =>
    JSON.stringify({
      jobs: {
        one: {
          strategy: { matrix: { include: [{ name: 'what is run/told', run: matrix }] } },
          steps: [
            { uses: 'actions/setup-node@v5', with: { 'node-version-file': version } },
            { run: step },
            { uses: 'changesets/action@v1', with: { publish: 'npm run release' } },
          ],
        },
      },
    });
  expect(
    found({
      '.github/workflows/ci.yml': workflow('cd packages/core && npx vitest run test', 'npm test', '.nvmrc'),
      '.github/workflows/nightly.yml': workflow('cd packages/none', 'npm run nothing', '.node-version'),
    }),
  ).toEqual([
    '.github/workflows/ci.yml runs the script "release", which package.json does not have',
    '.github/workflows/nightly.yml names packages/none, which does not exist',
    '.github/workflows/nightly.yml names .node-version, which does not exist',
    '.github/workflows/nightly.yml runs the script "nothing", which package.json does not have',
    '.github/workflows/nightly.yml runs the script "release", which package.json does not have',
  ]);
});
