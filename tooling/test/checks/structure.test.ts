import { describe, expect, test } from 'vitest';
import { checkFileSizes, maximumLines } from '../../checks/file-size.js';
import { inspectText } from '../../checks/forbidden-text.js';
import { checkFragments, minimumLines } from '../../checks/fragment.js';
import { checkShapes } from '../../checks/member-shape.js';
import { temporaryRepository } from './temporary-repository.js';

const manifest = {
  name: '@x/core',
  description: 'Messages and the interfaces of packages.',
  keywords: ['agent', 'llm', 'messages'],
  license: 'MIT',
  type: 'module',
  sideEffects: false,
  exports: {
    '.': { '@x/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  files: ['dist', 'src'],
  scripts: {
    build: 'tsup',
    'check:package': 'publint --strict',
    'check:types': 'attw --pack . --profile esm-only --quiet',
    test: 'vitest run',
  },
  engines: { node: '>=20.19' },
};

const files = {
  'package.json': { engines: { node: '>=20.19' } },
  'packages/core/package.json': manifest,
  'packages/core/README.md': '',
  'packages/core/LICENSE': '',
  'packages/core/tsconfig.json': '',
  'packages/core/tsup.config.ts': '',
  'packages/core/vitest.config.ts': '',
  'packages/core/src/index.ts': '',
};

test('a package like the others passes', () => {
  expect(checkShapes(temporaryRepository(files))).toEqual([]);
});

test.each([
  ['another build', { scripts: { ...manifest.scripts, build: 'tsc' } }, 'scripts'],
  ['another Node', { engines: { node: '>=18' } }, 'engines'],
  ['no description', { description: undefined }, 'description'],
  ['a description too long for a list', { description: 'agents '.repeat(20) }, 'description'],
  ['too few keywords', { keywords: ['agent', 'llm'] }, 'keywords'],
  ['one keyword twice', { keywords: ['agent', 'llm', 'messages', 'llm'] }, 'keywords'],
  ['a keyword in capitals', { keywords: ['Agent', 'llm', 'messages'] }, 'keywords'],
  ['a repository of its own', { repository: 'https://example.com/core' }, 'repository'],
  ['no side effects declared', { sideEffects: undefined }, 'sideEffects'],
  ['files left out', { files: ['dist'] }, 'files'],
  [
    'types after the code',
    {
      exports: {
        ...manifest.exports,
        '.': { '@x/source': './src/index.ts', default: './dist/index.js', types: './dist/index.d.ts' },
      },
    },
    'exports',
  ],
  [
    'an entry point from elsewhere',
    { exports: { ...manifest.exports, './vitest': './src/vitest.ts' } },
    'exports',
  ],
])('a package.json with %s does not', (_, change, field) => {
  const problems = checkShapes(
    temporaryRepository({ ...files, 'packages/core/package.json': { ...manifest, ...change } }),
  );
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({
    file: 'packages/core/package.json',
    message: expect.stringContaining(field),
  });
});

test('missing files and folders without a package.json are named', () => {
  const { 'packages/core/README.md': _, ...rest } = files;
  const root = temporaryRepository({
    ...rest,
    'packages/left/notes.txt': '',
    'apps/demo/package.json': { ...manifest, private: true },
    'apps/cli/package.json': { ...manifest, keywords: undefined },
  });
  expect(checkShapes(root).map(({ file, message }) => `${file} ${message}`)).toEqual([
    'packages/core has no README.md',
    'apps/cli has no README.md',
    'apps/cli has no tsconfig.json',
    'apps/cli has no vitest.config.ts',
    'apps/cli has no LICENSE',
    'apps/cli/package.json must have at least 3 different "keywords" of lower-case letters, digits and hyphens',
    'apps/demo has no README.md',
    'apps/demo has no tsconfig.json',
    'apps/demo has no vitest.config.ts',
    'packages/left has no package.json',
  ]);
});

test('what only tests use must be private', () => {
  const { license, type, engines } = manifest;
  const root = temporaryRepository({
    ...files,
    'tooling/checks/structure.ts': '',
    'tooling/test-support/package.json': { name: '@x/test-support', license, type, engines },
  });
  expect(checkShapes(root).map(({ file, message }) => `${file} ${message}`)).toEqual([
    'tooling/test-support has no vitest.config.ts',
    'tooling/test-support/package.json "private" must be true',
  ]);
});

test('a source file may reach the limit and not pass it', () => {
  const lines = (count: number) => 'a;\n'.repeat(count);
  const root = temporaryRepository({
    ...files,
    'packages/core/src/full.ts': lines(maximumLines),
    'packages/core/src/deep/long.ts': lines(maximumLines + 1),
    'packages/core/test/long.test.ts': lines(maximumLines + 1),
  });
  expect(checkFileSizes(root)).toMatchObject([{ file: 'packages/core/src/deep/long.ts' }]);
});

describe('a small file with one importer beside it', () => {
  const imports = (...paths: string[]) => paths.map((path) => `import { a } from '${path}.js';\n`).join('');
  const lines = (count: number) => 'a;\n'.repeat(count);
  const found = (
    extra: Record<string, string>,
    packages: readonly string[] = ['packages/core'],
    exceptions: Record<string, string> = {},
  ) =>
    checkFragments(
      temporaryRepository({
        ...files,
        'packages/core/src/deep/whole.ts': imports('./part'),
        'packages/core/src/deep/part.ts': lines(minimumLines - 1),
        'packages/core/src/index.ts': imports('./deep/whole'),
        ...extra,
      }),
      packages,
      exceptions,
    ).map(({ file }) => file);

  test('belongs there', () => {
    expect(found({})).toEqual(['packages/core/src/deep/part.ts']);
  });

  test('stays as an exception, or with its folder, and no exception is stale', () => {
    const except = (path: string, extra = {}) => found(extra, undefined, { [path]: 'for a reason' });
    expect(except('packages/core/src/deep/part.ts')).toEqual([]);
    expect(except('packages/core/src/deep')).toEqual([]);
    expect(except('packages/core/src/de')).toEqual([
      'packages/core/src/deep/part.ts',
      'packages/core/src/de',
    ]);
    const tested = { 'packages/core/test/deep/part.test.ts': '' };
    expect(except('packages/core/src/deep/part.ts', tested)).toEqual(['packages/core/src/deep/part.ts']);
  });

  test.each([
    ['has a test of its own', { 'packages/core/test/deep/part.test.ts': '' }],
    ['has lines enough', { 'packages/core/src/deep/part.ts': lines(minimumLines) }],
    ['has another importer', { 'packages/core/src/deep/other.ts': imports('./part') }],
    ['is public', { 'packages/core/src/index.ts': imports('./deep/whole', './deep/part') }],
    [
      'is imported from another folder',
      { 'packages/core/src/deep/whole.ts': '', 'packages/core/src/other/whole.ts': imports('../deep/part') },
    ],
    [
      'is an entry point',
      {
        'packages/core/package.json': JSON.stringify({ exports: { './part': './src/deep/part.ts' } }),
      },
    ],
  ])('stays when it %s', (_, extra) => {
    expect(found(extra)).toEqual([]);
  });

  test('stays in a package that the rule is not for yet', () => {
    expect(found({}, ['packages/other'])).toEqual([]);
  });
});

test("paths of somebody's machine are found, other paths are not", () => {
  const found = (text: string) => inspectText('a.ts', `fine\n${text}`).map(({ line }) => line);
  expect(found(['see ', 'work', 'main/README.md'].join('/'))).toEqual([2]);
  expect(found(['"', 'Users', 'ann/code"'].join('/'))).toEqual([2]);
  expect(found(['..', 'shared/notes.md'].join('/'))).toEqual([2]);
  expect(found('src/work/queue.ts https://example.com/work/ ~/work/ /workspace/')).toEqual([]);
  expect(inspectText('a.png', ['\0', 'work', ''].join('/'))).toEqual([]);
});
