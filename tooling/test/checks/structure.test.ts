import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkBudget, codeLines, sourceFiles } from '../../checks/code-lines.js';
import { inspectExpressions } from '../../checks/expressions.js';
import { inspectText } from '../../checks/forbidden-text.js';
import { inspectFunctions, LONG } from '../../checks/long-functions.js';
import { checkShapes } from '../../checks/member-shape.js';
import { temporaryRepository } from './temporary-repository.js';

const manifest = {
  name: '@x/core',
  version: '0.0.0',
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

test('missing files are named', () => {
  const { 'packages/core/README.md': _, ...rest } = files;
  const root = temporaryRepository({
    ...rest,
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
    'tooling/test-support/package.json "version" must be "0.0.0"',
  ]);
});

describe('code lines', () => {
  test('are neither blank nor a comment', () => {
    const text = [
      '/**',
      ' * What it does.',
      ' */',
      'a(); // why',
      '',
      '  // why',
      'b(/* c */);',
      '/* d */',
      '.x {',
      '}',
    ];
    expect(codeLines(`${text.join('\n')}\n`)).toBe(4);
  });

  test('of tests do not count, of styles and scripts do', () => {
    const sources = ['packages/core/src/a.ts', 'apps/demo/web/a.css', 'tooling/a.mjs', 'apps/demo/web/a.tsx'];
    const others = [
      'packages/core/test/a.ts',
      'packages/core/src/a.test.ts',
      'tooling/test/a.ts',
      'tooling/test-support/src/a.ts',
      'README.md',
      'tooling/budget.json',
    ];
    expect(sourceFiles([...sources, ...others])).toEqual(sources);
  });

  test('are held against the budget of the first group that names a folder above the file', () => {
    const files = { 'packages/core/a.ts': 'a;\nb;\n', 'packages/corefile/a.ts': 'a;\n', 'a.ts': 'a;\n' };
    const root = temporaryRepository(files);
    const log = vi.spyOn(console, 'log').mockReturnValue();
    onTestFinished(() => log.mockRestore());
    const over = (core: number, rest: number) =>
      checkBudget(root, Object.keys(files), {
        core: { lines: core, folders: ['packages/core'] },
        rest: { lines: rest, folders: [''] },
      }).map(({ message }) => message);
    expect(over(2, 2)).toEqual([]);
    expect(over(1, 2)).toEqual([expect.stringContaining('1 code lines for "core", which has 2')]);
    expect(over(2, 1)).toEqual([expect.stringContaining('1 code lines for "rest", which has 2')]);
    expect(log.mock.calls.slice(0, 3)).toEqual([
      [expect.stringMatching(/^core +2 of +2$/)],
      [expect.stringMatching(/^rest +2 of +2$/)],
      [expect.stringMatching(/^sum +4 of +4$/)],
    ]);
  });
});

describe('a function', () => {
  const lines = (count: number) => '  a;\n'.repeat(count);
  const found = (text: string) => inspectFunctions('a.ts', text).map(({ line }) => line);
  const reason = '  // Long because it is a table.\n';

  test.each([
    ['declaration', (body: string) => `function a() {\n${body}}\n`],
    ['arrow', (body: string) => `const a = () => {\n${body}};\n`],
    ['method', (body: string) => `class A { a() {\n${body}} }\n`],
    ['value', (body: string) => `const a = () =>\n${body.replaceAll('a;', 'a +')}  a;\n`],
  ])('(%s) over the limit needs a reason on its first line', (_, written) => {
    expect(found(written(lines(LONG - 1)))).toEqual([]);
    expect(found(written(`${lines(10)}\n  // Why.\n${lines(LONG - 11)}`))).toEqual([]);
    expect(found(written(lines(LONG + 1)))).toEqual([1]);
    expect(found(written(reason + lines(LONG + 1)))).toEqual([]);
    expect(found(written(`  // Long because\n${lines(LONG + 1)}`))).toEqual([1]);
  });

  test('has the lines of the functions inside, unless they have a reason of their own', () => {
    const around = (body: string) => `function a() {\n  const b = () => {\n${body}  };\n}\n`;
    expect(found(around(lines(LONG - 1)))).toEqual([1]);
    expect(found(around(lines(LONG + 1)))).toEqual([2, 1]);
    expect(found(around(reason + lines(LONG + 1)))).toEqual([]);
    expect(found(around(reason + lines(LONG + 1)) + around(lines(LONG - 1)))).toHaveLength(1);
  });

  test('within the limit needs none', () => {
    expect(found(`function a() {\n${reason}${lines(LONG)}}\n`)).toEqual([1]);
  });
});

test('words that our style rules out are found in pages, and nowhere else', () => {
  expect(inspectText('docs/a.md', 'Fine.\nSomebody is told.')).toMatchObject([{ line: 2 }]);
  expect(inspectText('docs/decisions/a.md', 'Somebody is told.')).toEqual([]);
});

test("paths of somebody's machine are found, other paths are not", () => {
  const found = (text: string) => inspectText('a.ts', `fine\n${text}`).map(({ line }) => line);
  expect(found(['see ', 'work', 'main/README.md'].join('/'))).toEqual([2]);
  expect(found(['"', 'Users', 'ann/code"'].join('/'))).toEqual([2]);
  expect(found(['..', 'shared/notes.md'].join('/'))).toEqual([2]);
  const folder = ['', 'work', ''].join('/');
  expect(found(`src${folder}queue.ts https://example.com${folder} ~${folder} /workspace/`)).toEqual([]);
  expect(inspectText('a.png', ['\0', 'work', ''].join('/'))).toEqual([]);
});

describe('regular expressions', () => {
  const found = (code: string) => inspectExpressions('a.ts', code).map(({ line }) => line);

  test.each([String.raw`/\s*\n/`, '/a+$/', '/^(?:a|ab)*$/'])(
    '%s reads a text again and again',
    (expression) => {
      expect(found(`const a = 1;\nconst b = ${expression};`)).toEqual([2]);
      expect(found(`// Bounded because b is short.\nconst b = ${expression};`)).toEqual([]);
      expect(found(`// Bounded because a is short.\nconst a = /a/;\nconst b = ${expression};`)).toEqual([3]);
    },
  );

  test.each([String.raw`/(?<!\s)\s+$/`, '/^(?:a|b)*$/', String.raw`/^\s*a/`])(
    '%s reads a text once',
    (expression) => expect(found(`const b = ${expression};`)).toEqual([]),
  );
});
