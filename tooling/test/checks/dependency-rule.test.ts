import { expect, test } from 'vitest';
import { checkDependencyRule } from '../../checks/dependency-rule.js';
import { repository } from '../../checks/workspace.js';
import { temporaryRepository } from './temporary-repository.js';

const ships = { '@cfworker/json-schema': '^4', zod: '^4' };
const core = { name: '@x/core', dependencies: ships };
const testkit = { name: '@x/testkit', dependencies: { '@x/core': '*' } };
const redis = {
  name: '@x/redis',
  dependencies: { '@x/core': '*' },
  peerDependencies: { ioredis: '*' },
  devDependencies: { '@x/testkit': '*' },
};

function problemsOf(files: Record<string, string | object>): string[] {
  const root = temporaryRepository({
    'packages/core/package.json': core,
    'packages/testkit/package.json': testkit,
    'packages/redis/package.json': redis,
    'apps/demo/package.json': { name: '@x/demo', dependencies: { '@x/core': '*', '@x/redis': '*' } },
    ...files,
  });
  return checkDependencyRule(root).map(
    ({ file, line, message }) => `${file}${line === undefined ? '' : `:${line}`} ${message}`,
  );
}

test('a repository that keeps the rule has no problems, and ours is one', () => {
  expect(
    problemsOf({ 'packages/redis/src/index.ts': "import { a } from '@x/core';\nimport './a.js';" }),
  ).toEqual([]);
  expect(checkDependencyRule(repository)).toEqual([]);
});

test.each(['dependencies', 'peerDependencies', 'optionalDependencies'])(
  'a package must not ship with its neighbor, not even through %s',
  (field) => {
    expect(
      problemsOf({ 'packages/redis/package.json': { name: '@x/redis', [field]: { '@x/testkit': '*' } } }),
    ).toEqual(['packages/redis/package.json must not ship with @x/testkit: packages meet in an app']);
  },
);

test.each([
  ['statically', "import { a } from '@x/testkit';"],
  ['for its types', "import type { A } from '@x/testkit';"],
  ['for one type', "let a: import('@x/testkit').A;"],
  ['by passing it on', "export * from '@x/testkit';"],
  ['when first used', "const load = () => import('@x/testkit');"],
  ['by an entry point', "import { a } from '@x/testkit/vitest';"],
  ['by its path', "import { a } from '../../testkit/src/index.js';"],
])('its source must not import the neighbor %s', (_, statement) => {
  const problems = problemsOf({ 'packages/redis/src/deep.ts': `// a comment\n${statement}` });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^packages\/redis\/src\/deep\.ts:2 must not import /);
});

test('its tests may import what it develops with', () => {
  expect(problemsOf({ 'packages/redis/test/index.test.ts': "import '@x/testkit';" })).toEqual([]);
});

test('core ships with zod, a JSON Schema validator and digests, no more and no less', () => {
  const manifest = (dependencies: object) => ({
    'packages/core/package.json': { name: '@x/core', dependencies },
  });
  expect(problemsOf(manifest({ ...ships, ms: '1' }))).toEqual([
    'packages/core/package.json must ship with exactly @cfworker/json-schema, zod, not with @cfworker/json-schema, zod, ms',
  ]);
  expect(problemsOf(manifest({}))).toHaveLength(1);
});

test('a cycle through devDependencies is found, with its way round', () => {
  const problems = problemsOf({
    'packages/core/package.json': { ...core, devDependencies: { '@x/testkit': '*' } },
  });
  expect(problems).toEqual(['packages/core/package.json is part of a cycle: @x/core → @x/testkit → @x/core']);
});

test('a cycle through what only tests use is found', () => {
  const problems = problemsOf({
    'tooling/test-support/package.json': { name: '@x/test-support', dependencies: { '@x/testkit': '*' } },
    'packages/testkit/package.json': { ...testkit, devDependencies: { '@x/test-support': '*' } },
  });
  expect(problems).toEqual([
    'packages/testkit/package.json is part of a cycle: @x/testkit → @x/test-support → @x/testkit',
  ]);
});

test('a package must not ship with what only tests use', () => {
  const problems = problemsOf({
    'packages/redis/package.json': { ...redis, dependencies: { '@x/test-support': '*' } },
  });
  expect(problems).toEqual([
    'packages/redis/package.json must not ship with @x/test-support: packages meet in an app',
  ]);
});

test('nothing depends on an app', () => {
  const problems = problemsOf({
    'packages/redis/package.json': { ...redis, devDependencies: { '@x/demo': '*' } },
  });
  expect(problems).toContain('packages/redis/package.json must not depend on the app @x/demo');
});
